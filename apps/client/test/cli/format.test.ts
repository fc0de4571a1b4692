import { formatDuration } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import {
  ago,
  bytes,
  columns,
  instant,
  instantOf,
  keyValues,
  orNone,
  printable,
  shortId,
  until,
} from "../../src/cli/format.ts";

describe("tables and values", () => {
  it("lines up columns by what a terminal shows, not by characters", () => {
    expect(
      columns([
        ["a", "b"],
        ["日本", "x"],
        ["long one", "y"],
      ]),
    ).toBe("a         b\n日本      x\nlong one  y");
    expect(
      keyValues([
        ["ID", "1"],
        ["Long Key", "2"],
      ]),
    ).toBe("ID       = 1\nLong Key = 2");
  });

  it.each([
    [0, "0 B"],
    [9, "9 B"],
    [1023, "1023 B"],
    [1536, "1.5 KiB"],
    [10 * 2 ** 20, "10 MiB"],
    [18.5 * 2 ** 20, "18 MiB"],
    [19.5 * 2 ** 20, "20 MiB"],
    [24 * 2 ** 30, "24 GiB"],
  ])("shows %d bytes as %s", (n, text) => expect(bytes(n)).toBe(text));

  it.each([
    [0, "0s"],
    [5e9, "5s"],
    [1.5e9, "1.5s"],
    [107_756, "107.756µs"],
    [2.5e6, "2.5ms"],
    [999, "999ns"],
    [3_661e9, "1h1m1s"],
    [60e9, "1m0s"],
    [-90e9, "-1m30s"],
  ])("writes %d ns as %s", (ns, text) => expect(formatDuration(ns)).toBe(text));

  it("says how long ago with the two largest parts", () => {
    const at = (seconds: number): string => ago(1e18, 1e12 + seconds * 1000);
    expect([0, 59, 60, 87, 3600, 3661, 90_000, 40 * 86_400].map(at)).toEqual([
      "0s ago",
      "59s ago",
      "1m ago",
      "1m27s ago",
      "1h ago",
      "1h1m ago",
      "1d1h ago",
      "1mo10d ago",
    ]);
    expect(at(-30)).toBe("0s ago");
    expect(ago(0, 5)).toBe("N/A");
    expect(until(61_000, 500)).toBe("1m1s from now");
  });

  it("shows times in the zone of the terminal and Go's zero time as none", () => {
    expect(instant(0)).toBe("N/A");
    expect(instant(1_796_043_356_000_000_000)).toMatch(/^2026-11-30T\d\d:\d\d:56(Z|[+-]\d\d:\d\d)$/);
    expect(instantOf("0001-01-01T00:00:00Z")).toBe("N/A");
    expect(instantOf(undefined)).toBe("N/A");
    expect(Date.parse(instantOf("2026-11-30T12:56:35.123456789Z"))).toBe(Date.parse("2026-11-30T12:56:35Z"));
  });

  it("lets nothing that a server says steer the terminal", () => {
    expect(printable("a\u001b[31mred\u0007\tb\nc\u009b2J")).toBe("a\\x1b[31mred\\x07\tb\nc\\x9b2J");
    expect([orNone(""), orNone(null), orNone("x"), shortId("0123456789"), shortId("0123456789", true)]).toEqual([
      "<none>",
      "<none>",
      "x",
      "01234567",
      "0123456789",
    ]);
  });
});
