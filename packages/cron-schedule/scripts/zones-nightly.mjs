// Every zone of the tz database around every change of its clock from February 1972 to the end of 2037, against a scan minute by
// minute, croner and Temporal:
//   node --import tsx --conditions=@outrider/source packages/cron-schedule/scripts/zones-nightly.mjs [seed] [windows per change] [part of zone names]
// Prints the differences; exit code 1 if there is one. About 15 minutes on one core.
import { transitionsOf } from "../test/brute-force.ts";
import { checkCroner, checkCronerStarts, checkTemporal } from "../test/check-oracles.ts";
import { checkCronRuns } from "../test/check-cron.ts";
import { checkTransition, seeded, windowsNear } from "../test/check-transition.ts";
import { Zone } from "../src/zone.ts";
import { ZONE_NAMES } from "../src/zone-names.ts";

const [seedText, windowsText, part = ""] = process.argv.slice(2);
const seed = Number(seedText ?? Math.floor(new Date().getTime() / 86_400_000));
const windows = Number(windowsText ?? 6);
const random = seeded(seed);
const from = Date.UTC(1972, 1, 1);
const to = Date.UTC(2038, 0, 1);
const count = { zones: 0, histories: 0, changes: 0, windows: 0, croner: 0, temporal: 0, differences: 0 };
const known = new Set();

function check(difference) {
  if (difference === undefined) return;
  if (count.differences++ < 50) console.log(difference);
}

const names = ZONE_NAMES.flatMap(([folder, list]) => list.split(" ").map((name) => folder + name)).filter((name) =>
  name.includes(part),
);
for (const name of names) {
  let zone;
  try {
    zone = new Zone(name);
  } catch {
    console.log(`${name}: not known to this runtime`);
    continue;
  }
  count.zones++;
  const transitions = transitionsOf(name, from, to);
  const ours = zone
    .jumps(from + 1, to - 1)
    .map((j) => ({ at: j.at, before: j.before / 60_000, after: j.after / 60_000 }));
  const history = JSON.stringify(transitions);
  if (JSON.stringify(ours) !== history)
    check(`${name}: ${ours.length} changes, the daily scan has ${transitions.length}`);
  // Links share the history of another name: their windows would only repeat its checks.
  if (known.has(history)) continue;
  known.add(history);
  count.histories++;
  for (const transition of transitions) {
    count.changes++;
    count.windows += windows;
    check(checkTransition(name, transition, windowsNear(transition, windows, random)));
    const [{ start }] = windowsNear(transition, 1, random);
    check(
      checkCronRuns(
        name,
        transition,
        start,
        count.changes % 2 ? "skip" : "shift",
        ["first", "last", "both"][count.changes % 3],
      ),
    );
    // Croner 11.0.1 runs a skipped time a day late when the clock jumps into the next date (Nuuk, at 23:00; Samoa in 2011), and
    // takes the second of two readings when it goes back by many hours (Vostok 1994).
    const { at, before, after } = transition;
    const [left, right] = [before, after].map((offset) => Math.floor((at / 60_000 + offset) / 1440));
    if (after > before ? left === right : before - after <= 180) {
      count.croner++;
      check(checkCroner(name, transition, random));
      check(checkCronerStarts(name, transition, random));
    }
    count.temporal++;
    check(checkTemporal(zone, transition));
  }
}
console.log(JSON.stringify({ seed, ...count }));
process.exitCode = count.differences > 0 || count.changes === 0 ? 1 : 0;
