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
