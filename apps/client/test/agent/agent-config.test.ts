import { describe, expect, it } from "vitest";
import { isLoopback, resolveAgentConfig } from "../../src/agent/index.ts";

const resolve = (flags: object = {}, env: Record<string, string> = {}): ReturnType<typeof resolveAgentConfig> =>
  resolveAgentConfig({ dataDir: "/data", ...flags }, env, "/cwd");

describe("agent configuration", () => {
  it("takes flags over environment over defaults", () => {
    expect(resolve()).toMatchObject({
      dataDir: "/data",
      bind: { http: { host: "127.0.0.1", port: 4646 } },
      region: "global",
      datacenter: "dc1",
      logLevel: "info",
      token: undefined,
      clientOptions: { maxKillTimeoutMs: 30_000, gc: { maxAllocs: 50 } },
    });
    const env = {
      OUTRIDER_HTTP_PORT: "5000",
      OUTRIDER_DC: "dc9",
      OUTRIDER_LOG_LEVEL: "DEBUG",
      OUTRIDER_DATA_DIR: "rel",
    };
    expect(resolve({ dataDir: undefined }, env)).toMatchObject({
      dataDir: "/cwd/rel",
      bind: { http: { port: 5000 } },
      datacenter: "dc9",
      logLevel: "debug",
    });
    expect(resolve({ port: 6000, datacenter: "x" }, env)).toMatchObject({
      bind: { http: { port: 6000 } },
      datacenter: "x",
    });
    expect(resolve({ socket: "api.sock" }).bind.http).toEqual({ unixSocket: "/cwd/api.sock" });
    expect(resolve({ meta: { a: "1" }, nodeName: "n1", nodeClass: "c" })).toMatchObject({
      nodeName: "n1",
      clientOptions: { meta: { a: "1" }, nodeClass: "c" },
    });
  });

  it("needs a token to listen beyond this machine", () => {
    expect(() => resolve({ bind: "0.0.0.0" })).toThrow(
      expect.objectContaining({ code: "ERR_OUTRIDER_AGENT_TOKEN_NEEDED" }),
    );
    expect(() => resolve({}, { OUTRIDER_HTTP_BIND: "::" })).toThrow("give a token");
    expect(resolve({ bind: "10.0.0.1", token: "0123456789abcdef" })).toMatchObject({
      token: "0123456789abcdef",
      allowedHosts: ["10.0.0.1"],
    });
    expect(resolve({ bind: "127.0.0.2" }).token).toBeUndefined();
    for (const [host, loopback] of [
      ["localhost", true],
      ["::1", true],
      ["127.9.9.9", true],
      ["10.0.0.1", false],
      ["127.evil.example", false],
    ] as const)
      expect([host, isLoopback(host)]).toEqual([host, loopback]);
  });

  it.each([
    [{ dataDir: "" }, "-data-dir (or OUTRIDER_DATA_DIR)"],
    [{ dataDir: "a\0b" }, "-data-dir"],
    [{ port: "x" }, '-port (or OUTRIDER_HTTP_PORT): must be a port from 0 to 65535, not "x"'],
    [{ port: 70_000 }, "-port"],
    [{ bind: "example.com" }, "-bind"],
    [{ token: "short" }, "-token"],
    [{ region: "a b" }, "-region"],
    [{ datacenter: "-x" }, "-dc"],
    [{ nodeName: "a\nb" }, "-node"],
    [{ logLevel: "loud" }, "-log-level"],
  ])("refuses %j, naming flag and variable", (flags, text) => {
    expect(() => resolve(flags)).toThrow(text);
  });

  it("never shows a token in an error", () => {
    try {
      resolve({ token: "secretvalue" });
    } catch (reason) {
      expect(JSON.stringify([(reason as Error).message, (reason as { details: unknown }).details])).not.toContain(
        "secretvalue",
      );
    }
  });
});
