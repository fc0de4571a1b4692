import type { Logger } from "@outrider/foundation";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLogRelay } from "../src/host/log-relay.ts";

function recorder(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const fn =
    (level: string) =>
    (first: object | string, message?: string): void => {
      const fields = typeof first === "string" ? {} : first;
      lines.push(
        [level, message ?? (first as string), ...Object.entries(fields).map(([k, v]) => `${k}=${String(v)}`)].join(" "),
      );
    };
  const logger: Logger = {
    trace: fn("trace"),
    debug: fn("debug"),
    info: fn("info"),
    warn: fn("warn"),
    error: fn("error"),
    child: () => logger,
  };
  return { logger, lines };
}

function relayed(...chunks: string[]): string[] {
  const { logger, lines } = recorder();
  const relay = createLogRelay(logger);
  for (const chunk of chunks) relay.push(Buffer.from(chunk));
  relay.end();
  return lines;
}

describe("stderr of a plugin", () => {
  it("keeps level, message and fields of hclog lines", () => {
    const line = '{"@level":"WARN","@message":"m","@timestamp":"2026-01-02T03:04:05.123000Z","a":1}\n';
    expect(relayed(line)).toEqual(["warn m a=1 timestamp=2026-01-02T03:04:05.123000Z"]);
    expect(relayed('{"@level":"info","@message":"m"}')).toEqual(["info m"]);
  });

  it.each([
    '{"@level":"info","@message":1}',
    '{"@level":2,"@message":"m"}',
    '{"@level":"info","@message":"m","@timestamp":3}',
    '{"@level":"off","@message":"m"}',
    '{"@message":"m"}',
    "{broken",
  ])("takes odd JSON as text: %s", (line) => {
    expect(relayed(line)).toEqual([`debug ${line}`]);
  });

  it("knows tagged lines, and takes everything after a panic as an error", () => {
    expect(relayed("[WARN] w\n [INFO] i\n[ERR] e\nplain\npanic: x\nstack\n[INFO] y\n")).toEqual([
      "warn [WARN] w",
      "debug  [INFO] i",
      "debug [ERR] e",
      "debug plain",
      "error panic: x",
      "error stack",
      "info [INFO] y",
    ]);
    expect(relayed("fatal error: x")).toEqual(["error fatal error: x"]);
  });

  it("joins half lines, drops empty ones and cuts long ones without parsing them", () => {
    expect(relayed("a", "b\r\n\n", "c")).toEqual(["debug ab", "debug c"]);
    const long = `[ERROR]${"x".repeat(70_000)}`;
    const lines = relayed(`${long}\nnext\n`);
    expect(lines.map((line) => line.length)).toEqual([65_536 + 6, long.length - 65_536 + 6, 10]);
    expect(lines[0]?.startsWith("debug [ERROR]")).toBe(true);
    expect(relayed(`${"y".repeat(65_536)}\nz\n`).at(-1)).toBe("debug z");
  });

  it("never throws, whatever comes", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.json())), (parts) => {
        relayed(...parts.map((part) => `${part}\n`));
      }),
    );
  });
});
