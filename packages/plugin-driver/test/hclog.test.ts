import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPluginLogger } from "../src/serve/index.ts";

function lines(o: { level?: "info"; module?: string; now?: number } = {}): {
  log: ReturnType<typeof createPluginLogger>;
  out: string[];
} {
  const out: string[] = [];
  const { now = 1_767_323_045_123, ...rest } = o;
  return { out, log: createPluginLogger({ write: (line) => void out.push(line), now: () => now, ...rest }) };
}

describe("log lines of a plugin", () => {
  it("have six digits of the second and nothing but strings", () => {
    const { log, out } = lines({ module: "hello" });
    log
      .child({ task: "web" })
      .warn({ n: 1, o: { big: 2n }, e: new Error("x"), gone: undefined, "@message": 3 }, "text");
    expect(JSON.parse(out[0] as string)).toEqual({
      "@level": "warn",
      "@message": "text",
      "@module": "hello",
      "@timestamp": "2026-01-02T03:04:05.123000Z",
      task: "web",
      n: "1",
      o: '{"big":"2"}',
      e: "x",
    });
    expect(out[0]?.endsWith("}\n")).toBe(true);
  });

  it("keep microseconds where the clock has them", () => {
    const { log, out } = lines({ now: 1_767_323_045_123.25 });
    log.error("x");
    expect(out[0]).toContain("05.123250Z");
  });

  it.each(["trace", "debug", "info", "warn", "error"] as const)(
    "of %s and above are written when that is the level",
    (level) => {
      const order = ["trace", "debug", "info", "warn", "error"] as const;
      const out: string[] = [];
      const log = createPluginLogger({ write: (line) => void out.push(line), now: () => 0, level });
      for (const name of order) log[name]("x");
      expect(out.map((line) => (JSON.parse(line) as Record<string, string>)["@level"])).toEqual(
        order.slice(order.indexOf(level)),
      );
      const byDefault = lines();
      for (const name of order) byDefault.log[name]("x");
      expect(byDefault.out).toHaveLength(4);
      expect(byDefault.out[0]).toContain('"@module":"driver"');
    },
  );

  it("keep what a logger is bound to, unless the line says otherwise", () => {
    const { log, out } = lines();
    const bound = log.child({ a: 1, b: 1 }).child({ b: 2, c: 2 });
    bound.info("plain");
    bound.info({ c: 3 }, "own");
    const [plain, own] = out.map((line) => JSON.parse(line) as Record<string, string>);
    expect(plain).toMatchObject({ a: "1", b: "2", c: "2", "@message": "plain" });
    expect(own).toMatchObject({ a: "1", b: "2", c: "3", "@message": "own" });
  });

  it("keep their own facts, whatever the fields are called", () => {
    const { log, out } = lines({ module: "hello" });
    log.info(
      { "@level": "x", "@message": "x", "@module": "x", "@timestamp": "x", "@levels": "y", "a@level": "z" },
      "m",
    );
    expect(JSON.parse(out[0] as string)).toEqual({
      "@level": "info",
      "@message": "m",
      "@module": "hello",
      "@timestamp": "2026-01-02T03:04:05.123000Z",
      "@levels": "y",
      "a@level": "z",
    });
  });

  it.each<[unknown, string]>([
    [null, "null"],
    [true, "true"],
    [12n, "12"],
    [[1, 2n], '[1,"2"]'],
    [{ toJSON: () => undefined }, "null"],
    ["x".repeat(16_384), "x".repeat(16_384)],
    ["x".repeat(16_385), `${"x".repeat(16_384)}…`],
  ])("show a value as text (%#)", (value, shown) => {
    const { log, out } = lines();
    log.info({ value }, "m");
    expect((JSON.parse(out[0] as string) as Record<string, string>)["value"]).toBe(shown);
  });

  it("below the level are dropped", () => {
    const { log, out } = lines({ level: "info" });
    log.debug("x");
    log.trace({ a: 1 }, "y");
    log.info({ a: 1 });
    expect(out).toHaveLength(1);
    expect(JSON.parse(out[0] as string)).toMatchObject({ "@message": "", a: "1" });
  });

  it("never hold a non-string message, level or time, which would end a stock agent", () => {
    fc.assert(
      fc.property(fc.anything(), fc.dictionary(fc.string(), fc.anything()), (message, fields) => {
        const { log, out } = lines();
        log.info(fields, message as string);
        const parsed = JSON.parse(out[0] as string) as Record<string, unknown>;
        expect(Object.values(parsed).every((value) => typeof value === "string")).toBe(true);
        expect(parsed["@timestamp"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      }),
    );
  });

  it("survive values that cannot be printed, and cut what is too long", () => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    const { log, out } = lines();
    log.info({ loop, long: "x".repeat(20_000) }, "m");
    const parsed = JSON.parse(out[0] as string) as Record<string, string>;
    expect(parsed["loop"]).toBe("[unprintable]");
    expect(parsed["long"]?.length).toBe(16_385);
  });
});
