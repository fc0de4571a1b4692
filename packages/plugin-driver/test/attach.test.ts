/** Who a plugin says it is, and what a host makes of it. */
import type { Logger } from "@outrider/foundation";
import { describe, expect, it } from "vitest";
import type { PluginInfo } from "../src/index.ts";
import { checkIdentity, type ExpectedPlugin, type VerifyPlugin } from "../src/host/attach.ts";
import { connectPlugin, type ReattachRecord } from "../src/host/index.ts";
import { checkSocketPath } from "../src/wire/socket-path.ts";

const INFO: PluginInfo = { name: "docker", type: "driver", version: "1.2.3", apiVersions: ["v0.1.0"] };

function check(
  info: Partial<PluginInfo>,
  expected?: ExpectedPlugin,
  verify?: VerifyPlugin,
): { readonly work: Promise<void>; readonly told: unknown[] } {
  const told: unknown[] = [];
  const log = (...parts: unknown[]): void => void told.push(parts);
  const logger: Logger = { trace: log, debug: log, info: log, warn: log, error: log, child: () => logger };
  return { work: checkIdentity({ ...INFO, ...info }, expected, verify, logger), told };
}

describe("a plugin that was reached", () => {
  it.each<[string, Partial<PluginInfo>, ExpectedPlugin | undefined, VerifyPlugin | undefined]>([
    ["nothing is expected", {}, undefined, undefined],
    ["no part is expected", {}, {}, undefined],
    ["name and version are right", {}, { name: "docker", version: "1.2.3" }, undefined],
    ["the caller agrees", {}, undefined, ({ name }) => name === "docker"],
    ["one of its API versions is ours, with or without v", { apiVersions: ["v9.9.9", "0.1.0"] }, undefined, undefined],
  ])("is taken when %s", async (_what, info, expected, verify) => {
    const { work, told } = check(info, expected, verify);
    await work;
    expect(told).toEqual([[{ driver: "docker", version: "1.2.3" }, "plugin attached"]]);
  });

  it.each<[string, Partial<PluginInfo>, ExpectedPlugin | undefined, VerifyPlugin | undefined, string]>([
    [
      "is of another type",
      { type: "device" },
      undefined,
      undefined,
      'plugin "docker" is a device plugin, not a driver',
    ],
    ["has another name", {}, { name: "podman" }, undefined, 'plugin "docker" is not "podman"'],
    ["has another version", {}, { version: "2.0.0" }, undefined, 'plugin "docker" has version 1.2.3, not 2.0.0'],
    [
      "is refused by the caller",
      {},
      { name: "docker" },
      () => false,
      'plugin "docker" was refused by the caller\'s check',
    ],
    [
      "is refused by the caller in the end",
      {},
      undefined,
      () => Promise.resolve(false),
      'plugin "docker" was refused by the caller\'s check',
    ],
  ])("is refused as a stranger when it %s", async (_what, info, expected, verify, message) => {
    const { work, told } = check(info, expected, verify);
    await expect(work).rejects.toMatchObject({ kind: "identity", message, details: { name: "docker" } });
    expect(told).toEqual([]);
  });

  it.each<[readonly string[], string]>([
    [[], 'plugin "docker" speaks driver API (none), this host v0.1.0'],
    [["v1.0.0", "v2.0.0"], 'plugin "docker" speaks driver API v1.0.0, v2.0.0, this host v0.1.0'],
    [["vv0.1.0"], 'plugin "docker" speaks driver API vv0.1.0, this host v0.1.0'],
  ])("is refused when it speaks the driver API %j only", async (apiVersions, message) => {
    await expect(check({ apiVersions }).work).rejects.toMatchObject({ kind: "api-version", message });
  });

  it("is refused with the caller's own words when its check throws", async () => {
    const verify = (): boolean => {
      throw new Error("not signed");
    };
    await expect(check({}, undefined, verify).work).rejects.toThrow("not signed");
  });
});

describe("an address to attach to", () => {
  const record: ReattachRecord = { protocol: "grpc", network: "unix", address: "/p" };

  it("is exactly one", async () => {
    const message = "exactly one of socketPath and reattach is needed";
    await expect(connectPlugin({})).rejects.toMatchObject({ kind: "connect", message });
    await expect(connectPlugin({ socketPath: "/p", reattach: record })).rejects.toMatchObject({ message });
  });

  it("of a plugin with TLS is refused, since only its launcher had the certificate", async () => {
    await expect(connectPlugin({ reattach: { ...record, tls: true } })).rejects.toMatchObject({
      kind: "certificate",
      message: "plugin speaks TLS with a certificate that only its launcher had",
    });
  });

  it("whose process is gone is not dialled", async () => {
    const process = { pid: 2 ** 30, startTime: "1", bootId: "b" };
    await expect(connectPlugin({ reattach: { ...record, process } })).rejects.toMatchObject({
      kind: "connect",
      message: `plugin process ${2 ** 30} is gone`,
      details: { address: "/p" },
    });
  });

  it.each<[string, boolean]>([
    ["/p", true],
    [`/${"x".repeat(106)}`, true],
    [`/${"x".repeat(107)}`, false],
    [`/${"ä".repeat(53)}`, true],
    [`/${"ä".repeat(54)}`, false],
    ["", false],
    ["/a\0b", false],
  ])("on a unix socket has 1 to 107 bytes: %j", (path, fits) => {
    if (fits) return expect(() => checkSocketPath(path)).not.toThrow();
    const bytes = Buffer.byteLength(path);
    expect(() => checkSocketPath(path)).toThrow(`unix socket path has ${bytes} bytes, allowed are 1 to 107: ${path}`);
    expect(() => checkSocketPath(path)).toThrow(expect.objectContaining({ kind: "socket-path" }) as Error);
  });
});
