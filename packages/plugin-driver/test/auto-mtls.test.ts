import { EventEmitter } from "node:events";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:net";
import { systemClock } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectPlugin, type HostedDriver, launchPlugin, type SpawnPlugin } from "../src/host/index.ts";
import { createCertificate, readCertificate } from "../src/protocol/certificate.ts";
import { createDriverServer, serve } from "../src/serve/index.ts";
import type { PluginProcess } from "../src/serve/serve.ts";
import { FakeChild } from "./support/fake-child.ts";
import { MemoryDriver } from "./support/memory-driver.ts";

const realConsole = { ...console };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "opt-"));
});
afterEach(() => {
  Object.assign(console, realConsole);
  rmSync(folder, { recursive: true, force: true });
});

describe("a one-time certificate", () => {
  it("has the properties that go-plugin gives its own", async () => {
    const clock = new ManualClock({ now: Date.parse("2026-03-01T00:00:30Z") });
    const { certPem, keyPem, field } = await createCertificate(clock);
    const cert = new X509Certificate(certPem);
    expect(cert.ca).toBe(true);
    expect(cert.subject.split("\n").sort()).toEqual(["CN=localhost", "O=HashiCorp"]);
    expect(cert.issuer).toBe(cert.subject);
    expect(cert.verify(cert.publicKey)).toBe(true);
    expect(cert.subjectAltName).toBe("DNS:localhost");
    expect(cert.checkHost("localhost")).toBe("localhost");
    expect(cert.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"]);
    expect(cert.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "secp521r1" });
    expect(Date.parse(cert.validFrom)).toBe(Date.parse("2026-03-01T00:00:00Z"));
    expect(Date.parse(cert.validTo) - Date.parse("2026-03-01T00:00:30Z")).toBe(262_980 * 3_600_000);
    expect(keyPem).toContain("PRIVATE KEY");
    expect(field).toMatch(/^[A-Za-z0-9+/]{600,900}$/);
    expect(new X509Certificate(Buffer.from(field, "base64")).fingerprint256).toBe(cert.fingerprint256);
    expect((await createCertificate(clock)).field).not.toBe(field);
  });

  it("needs optional packages, and says which when they are missing", async () => {
    const missing = createCertificate(systemClock, () => Promise.reject(new Error("Cannot find package")));
    await expect(missing).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_START",
      kind: "certificate",
      message: expect.stringContaining("@peculiar/x509 and reflect-metadata") as string,
      cause: { message: "Cannot find package" },
    });
  });

  it("is read as PEM and as DER in base64, and refused when it is neither", async () => {
    const { certPem, field } = await createCertificate(systemClock);
    expect(readCertificate(field, "x").trim()).toBe(readCertificate(certPem, "x").trim());
    for (const text of ["", "A".repeat(80), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]) {
      expect(() => readCertificate(text, "the peer")).toThrow("the peer sent a certificate that cannot be read");
    }
  });
});

/** A launch whose "process" is this one: `serve` with the environment that the host gave. */
function launchServed(): { driver: Promise<HostedDriver>; lines: string[] } {
  const lines: string[] = [];
  const driver = launchPlugin({
    command: "/plugins/memory",
    autoMtls: true,
    spawn: (_command, _args, { env }) => {
      const child = new FakeChild();
      const host = Object.assign(new EventEmitter(), {
        env: { ...env },
        pid: 4712,
        exit: (n: number) => child.exit(n),
      });
      void serve(new MemoryDriver(), {
        process: host as unknown as PluginProcess,
        tempDir: folder,
        stdio: () => ({
          handshake: (line) => {
            lines.push(line);
            child.stdout.write(line);
          },
          log: () => undefined,
          flush: () => Promise.resolve(),
        }),
      });
      return child.asChild();
    },
  });
  driver.catch(() => undefined);
  return { driver, lines };
}

describe("AutoMTLS", () => {
  it("lets host and plugin speak, and nobody else", async () => {
    const { driver, lines } = launchServed();
    const plugin = await driver;
    expect(await plugin.info()).toMatchObject({ name: "memory" });
    const [line] = lines;
    expect(line).toMatch(/^1\|2\|unix\|[^|]+\|grpc\|[A-Za-z0-9+/]{600,900}\n$/);
    expect(line).not.toContain("=");
    // The same socket without a certificate: no answer, no harm.
    const socketPath = plugin.reattach.address;
    await expect(connectPlugin({ socketPath, timeouts: { connectMs: 1_000 } })).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_OUTRIDER_PLUGIN_(START|SHUTDOWN|CALL)$/) as string,
    });
    const stranger = connect(socketPath);
    stranger.on("error", () => undefined);
    stranger.end("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => stranger.once("close", resolve));
    expect(await plugin.capabilities()).toMatchObject({ exec: true });
    // Its record is honest: the certificates end with this host.
    expect(plugin.reattach.tls).toBe(true);
    const record = JSON.parse(JSON.stringify(plugin.reattach)) as typeof plugin.reattach;
    await expect(connectPlugin({ reattach: record })).rejects.toMatchObject({ kind: "certificate" });
    await plugin.stop();
    expect(await plugin.exited).toEqual({ code: 0, signal: null });
  });

  it.each([
    ["no certificate", ""],
    ["one that is none", "A".repeat(80)],
  ])("fails on a plugin that sends %s", async (_what, field) => {
    const children: FakeChild[] = [];
    const spawn: SpawnPlugin = () => {
      const child = new FakeChild();
      children.push(child);
      child.stdout.write(`1|2|unix|/p|grpc|${field}\n`);
      return child.asChild();
    };
    const driver = launchPlugin({ command: "/p", autoMtls: true, spawn });
    await expect(driver).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_START", kind: "certificate" });
    expect(children.map(({ signals }) => signals)).toEqual([["SIGKILL"]]);
  });

  it("fails on a plugin whose certificate is not the one it announced", async () => {
    const [announced, used] = await Promise.all([createCertificate(systemClock), createCertificate(systemClock)]);
    const socketPath = join(folder, "s");
    const child = new FakeChild();
    const closers: (() => Promise<void>)[] = [];
    const spawn: SpawnPlugin = (_command, _args, { env }) => {
      const clientCertPem = env["PLUGIN_CLIENT_CERT"] as string;
      setImmediate(() => child.emit("spawn"));
      void createDriverServer(new MemoryDriver(), { socketPath, tls: { ...used, clientCertPem } }).then((server) => {
        closers.push(() => server.close());
        child.stdout.write(`1|2|unix|${socketPath}|grpc|${announced.field}\n`);
      });
      return child.asChild();
    };
    await expect(launchPlugin({ command: "/p", autoMtls: true, spawn })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_START",
      kind: "connect",
    });
    expect(child.signals).toEqual(["SIGKILL"]);
    for (const close of closers) await close();
  });
});
