import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";
import { CronosExpression } from "cronosjs";
import { parseCron, parseSchedule } from "@outrider/cron-schedule";
import { contest, peer, report } from "./report.ts";

/** Random instants of 2026 (or of many years), the same in each run. */
function instants(count: number, from = Date.UTC(2026, 0, 1), to = Date.UTC(2027, 0, 1)): number[] {
  let state = 12_345;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return from + Math.floor((state / 2 ** 31) * (to - from));
  });
}

let sink = 0;
const nows = instants(20_000);
const few = nows.slice(0, 2000).map((t) => new Date(t));

function warm(): void {
  for (const timezone of ["UTC", "America/New_York", "Australia/Lord_Howe"]) {
    const schedule = parseSchedule({ start: "30 9 * * MON-FRI *", end: "0 16", timezone });
    const croner = new Cron("0 30 9 * * MON-FRI", { timezone });
    const cronos = CronosExpression.parse("0 30 9 * * MON-FRI", { timezone });
    const cron = parseCron("30 9 * * MON-FRI", { timezone });
    const [ours, a, b, c, next] = contest([
      [
        nows.length,
        () => {
          for (const t of nows) sink += schedule.evaluate(t).nextEnd?.getTime() ?? 0;
        },
      ],
      [
        few.length,
        () => {
          for (const t of few) sink += croner.nextRun(t)?.getTime() ?? 0;
        },
      ],
      [
        few.length,
        () => {
          for (const t of few) sink += cronos.nextDate(t)?.getTime() ?? 0;
        },
      ],
      [
        few.length,
        () => {
          for (const t of few)
            sink += CronExpressionParser.parse("0 30 9 * * 1-5", { currentDate: t, tz: timezone }).next().getTime();
        },
      ],
      [
        nows.length,
        () => {
          for (const t of nows) sink += cron.next(t)?.getTime() ?? 0;
        },
      ],
    ]) as [number, number, number, number, number];
    const what = `warm evaluate() of a weekday window, ${timezone}`;
    report({
      case: what,
      ours,
      peer: `${peer("croner")} nextRun`,
      theirs: a,
      unit: "us CPU/call",
      goal: "ratio <= 0.125",
    });
    report({
      case: what,
      ours,
      peer: `${peer("cronosjs")} nextDate`,
      theirs: b,
      unit: "us CPU/call",
      goal: "ratio <= 0.125",
    });
    report({
      case: what,
      ours,
      peer: `${peer("cron-parser")} parse + next`,
      theirs: c,
      unit: "us CPU/call",
      goal: "ratio <= 0.125",
    });
    report({
      case: `cron.next(), weekdays, ${timezone}`,
      ours: next,
      peer: `${peer("croner")} nextRun`,
      theirs: a,
      unit: "us CPU/call",
      goal: "ratio <= 0.125",
    });
  }
}

function rareDates(): void {
  // Over thirty years, so that answers differ from call to call and nothing is remembered.
  const spread = instants(20_000, Date.UTC(2000, 0, 1), Date.UTC(2030, 0, 1));
  const timezone = "America/New_York";
  const run = (start: string): readonly [number, () => void] => {
    const schedule = parseSchedule({ start, end: "0 17", timezone });
    return [
      spread.length,
      () => {
        for (const t of spread) sink += schedule.evaluate(t).nextEnd?.getTime() ?? 0;
      },
    ];
  };
  const [weekday, leap, fifth] = contest([run("30 9 * * MON-FRI *"), run("0 9 29 2 * *"), run("0 9 * 2 FRI#5 *")]) as [
    number,
    number,
    number,
  ];
  report({
    case: "evaluate() of 29 February",
    ours: leap,
    peer: "our weekday case",
    theirs: weekday,
    unit: "us CPU/call",
    goal: "ratio <= 3",
  });
  report({
    case: "evaluate() of FRI#5 in February",
    ours: fifth,
    peer: "our weekday case",
    theirs: weekday,
    unit: "us CPU/call",
    goal: "ratio <= 3",
  });
}

const ZONES = [
  "Africa/Cairo",
  "America/Bogota",
  "America/Chicago",
  "America/Denver",
  "America/Halifax",
  "America/Los_Angeles",
  "America/Mexico_City",
  "America/Santiago",
  "Asia/Dubai",
  "Asia/Kolkata",
  "Asia/Seoul",
  "Asia/Shanghai",
  "Asia/Tokyo",
  "Atlantic/Azores",
  "Australia/Sydney",
  "Europe/Berlin",
  "Europe/London",
  "Europe/Moscow",
  "Pacific/Auckland",
  "Pacific/Honolulu",
];

function cold(): void {
  const count = 10_000;
  const now = Date.UTC(2026, 5, 10, 12);
  // None of these zones was used before: parsing, zone tables and first answers are all in.
  const start = performance.now();
  const cpu = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    const schedule = parseSchedule({
      start: `${i % 60} ${i % 12} * * MON-FRI *`,
      end: `${i % 60} ${12 + (i % 12)}`,
      timezone: ZONES[i % 20],
    });
    sink += schedule.evaluate(now).nextEnd?.getTime() ?? 0;
  }
  const { user, system } = process.cpuUsage(cpu);
  const wall = performance.now() - start;
  report({
    case: "10,000 schedules over 20 zones, cold",
    ours: (user + system) / 1000,
    peer: "bound",
    theirs: 200,
    unit: "ms CPU",
    goal: "-",
  });
  report({
    case: "10,000 schedules over 20 zones, cold (wall)",
    ours: wall,
    peer: "bound",
    theirs: 200,
    unit: "ms",
    goal: "ratio <= 1",
  });
  const [again, theirs] = contest([
    [
      count,
      () => {
        for (let i = 0; i < count; i++)
          sink +=
            parseSchedule({
              start: `${i % 60} ${i % 12} * * MON-FRI *`,
              end: `${i % 60} ${12 + (i % 12)}`,
              timezone: ZONES[i % 20],
            })
              .evaluate(now)
              .nextEnd?.getTime() ?? 0;
      },
    ],
    [
      500,
      () => {
        for (let i = 0; i < 500; i++)
          sink +=
            new Cron(`0 ${i % 60} ${i % 12} * * MON-FRI`, { timezone: ZONES[i % 20] as string })
              .nextRun(new Date(now))
              ?.getTime() ?? 0;
      },
    ],
  ]) as [number, number];
  report({
    case: "parse + first answer in a known zone",
    ours: again,
    peer: peer("croner"),
    theirs,
    unit: "us CPU/schedule",
    goal: "ours <= 30",
  });
}

cold();
warm();
rareDates();
if (!Number.isFinite(sink)) throw new Error("an answer was not a date");
