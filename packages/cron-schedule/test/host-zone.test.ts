import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parseSchedule } from "@outrider/cron-schedule";
import { hostZoneName } from "../src/local-zone.ts";
import { errorOf } from "./error-of.ts";

const file = fileURLToPath(new URL("./tz-child.ts", import.meta.url));
const root = fileURLToPath(new URL("../../..", import.meta.url));

/** First opening of 09:00–17:00 local time after 2026-01-15T00:00Z. */
const HOSTS = {
  UTC: "2026-01-15T09:00:00Z",
  "Australia/Sydney": "2026-01-15T22:00:00Z",
  "America/New_York": "2026-01-15T14:00:00Z",
  "America/Sao_Paulo": "2026-01-15T12:00:00Z",
  "Australia/Lord_Howe": "2026-01-15T22:00:00Z",
  "Asia/Kathmandu": "2026-01-15T03:15:00Z",
};

describe("the zone of the host", () => {
  it.concurrent.each(Object.entries(HOSTS))(
    "TZ=%s changes no answer in a named zone, and is what Local means (Hexagon/croner#284)",
    async (zone, open) => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--import", "tsx", "--conditions=@outrider/source", file],
        {
          cwd: root,
          env: { ...process.env, TZ: zone },
        },
      );
      expect(JSON.parse(stdout)).toEqual({
        vectors: 85,
        differences: [],
        run: "2026-06-01T00:30:00Z",
        local: zone,
        open,
      });
    },
    60_000,
  );

  it.each([
    [undefined, "Europe/Paris", "Europe/Paris"],
    [undefined, "UTC", "UTC"],
    [undefined, undefined, undefined],
    [undefined, "Etc/Unknown", undefined],
    ["", "Etc/Unknown", undefined],
    ["Nope/Zone", undefined, undefined],
    ["EST5EDT,M3.2.0,M11.1.0", "UTC", undefined],
    [":America/New_York", "America/New_York", "America/New_York"],
    ["America/New_York", "America/New_York", "America/New_York"],
    ["/usr/share/zoneinfo/Europe/Paris", "UTC", undefined],
  ])("TZ=%s with %s resolved by Intl is %s", (tz, resolved, want) => {
    expect(hostZoneName({ tz, resolved })).toBe(want);
  });

  it.each(["", "Local", undefined])("%j is the zone given as localZone (hashicorp/nomad#10978)", (timezone) => {
    expect(
      parseSchedule({ start: "0 9 * * * *", end: "0 17", timezone }, { localZone: "Asia/Tokyo" }).timezones,
    ).toEqual(["Asia/Tokyo"]);
    expect(
      errorOf(() => parseSchedule({ start: "0 9 * * * *", end: "0 17", timezone }, { localZone: "nowhere" })),
    ).toMatchObject({ code: "timezone", text: "nowhere" });
  });
});
