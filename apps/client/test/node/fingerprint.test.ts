import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "@outrider/backoff/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fingerprintNetwork } from "../../src/node/fingerprint/host.ts";
import { computedClass } from "../../src/node/fingerprint/fingerprint-node.ts";
import { HostStatsSampler } from "../../src/node/host-stats.ts";
import { fingerprintNode, loadNodeIdentity } from "../../src/node/index.ts";
import { testNode } from "../server/harness.ts";

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "outrider-fp-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("node identity", () => {
  it("is made once, kept in private files, and never replaced silently", async () => {
    const identity = await loadNodeIdentity(dir);
    expect(await loadNodeIdentity(dir)).toEqual(identity);
    expect(identity.id).not.toBe(identity.secretId);
    expect(readFileSync(join(dir, "client-id"), "utf8")).toBe(`${identity.id}\n`);
    expect(statSync(join(dir, "secret-id")).mode & 0o777).toBe(0o600);
    writeFileSync(join(dir, "client-id"), "");
    await expect(loadNodeIdentity(dir)).rejects.toMatchObject({ code: "ERR_OUTRIDER_NODE_BAD_IDENTITY" });
  });
});

describe("fingerprint", () => {
  const settings = {
    name: "n",
    datacenter: "dc1",
    nodeClass: "",
    nodePool: "default",
    meta: { rack: "r1" },
    httpAddress: "127.0.0.1:4646",
    outriderVersion: "1.0.0",
  };

  it("describes the machine as jobs and the CLI need it", async () => {
    const node = await fingerprintNode({ id: "id", secretId: "secret" }, { ...settings, allocRoot: dir });
    expect(node.Attributes).toMatchObject({
      "kernel.name": "linux",
      "nomad.version": "2.0.5",
      "nomad.service_discovery": "true",
      "outrider.version": "1.0.0",
      "unique.advertise.address": "127.0.0.1:4646",
    });
    for (const key of [
      "kernel.version",
      "kernel.arch",
      "cpu.arch",
      "cpu.numcores",
      "cpu.frequency",
      "cpu.totalcompute",
      "memory.totalbytes",
      "unique.hostname",
      "os.name",
      "os.signals",
      "unique.storage.bytesfree",
      "unique.network.ip-address",
    ])
      expect(node.Attributes![key], key).toBeTruthy();
    expect(Number(node.Attributes!["cpu.frequency"])).toBeGreaterThan(100);
    expect(node.NodeResources!.Cpu.CpuShares).toBe(Number(node.Attributes!["cpu.totalcompute"]));
    expect(node.NodeResources!.Memory.MemoryMB).toBeGreaterThan(10);
    expect(node.NodeResources!.Disk.DiskMB).toBeGreaterThan(0);
    expect(node.ReservedResources).not.toBeNull();
    expect(node.NodeResources!.Processors.Topology!.Cores).toHaveLength(node.NodeResources!.Cpu.TotalCpuCores);
    expect(node.Attributes!["os.signals"]).toContain("SIGTERM");
    expect(node).toMatchObject({
      Status: "initializing",
      SchedulingEligibility: "eligible",
      HTTPAddr: "127.0.0.1:4646",
      Meta: { rack: "r1" },
    });
  });

  it("takes what the user says over what it finds", async () => {
    const node = await fingerprintNode(
      { id: "id", secretId: "s" },
      {
        ...settings,
        allocRoot: dir,
        networkAddress: "127.0.0.1",
        cpuTotalCompute: 500,
        memoryTotalMB: 64,
        minDynamicPort: 1,
        maxDynamicPort: 2,
        reserved: { cpu: 100, memoryMB: 4, diskMB: 5, ports: "22" },
      },
    );
    expect(node.NodeResources).toMatchObject({
      Cpu: { CpuShares: 500 },
      Memory: { MemoryMB: 64 },
      MinDynamicPort: 1,
      MaxDynamicPort: 2,
    });
    expect(node.ReservedResources).toMatchObject({
      Cpu: { CpuShares: 100 },
      Memory: { MemoryMB: 4 },
      Disk: { DiskMB: 5 },
      Networks: { ReservedHostPorts: "22" },
    });
    expect(node.Attributes).toMatchObject({ "cpu.usablecompute": "400", "unique.network.ip-address": "127.0.0.1" });
    expect(fingerprintNetwork("127.0.0.1")).toMatchObject({ ip: "127.0.0.1", nodeNetworks: [{ Device: "lo" }] });
    expect(fingerprintNetwork(undefined).ip).toMatch(/^\d+\./);
  });

  it("gives nodes that look the same to jobs the same class", () => {
    const a = testNode({ ID: "1", Attributes: { "kernel.name": "linux", "unique.hostname": "a" } });
    const b = testNode({ ID: "2", Attributes: { "unique.hostname": "b", "kernel.name": "linux" } });
    expect(computedClass(a)).toBe(computedClass(b));
    expect(computedClass(a)).toMatch(/^v1:\d+$/);
    expect(computedClass(testNode({ Meta: { rack: "r2" } }))).not.toBe(computedClass(testNode()));
  });
});

describe("use of the machine", () => {
  it("is sampled, and not more often than makes sense", async () => {
    const clock = new ManualClock();
    const sampler = new HostStatsSampler({ clock, allocRoot: dir, mhz: 1000 });
    const first = await sampler.sample();
    expect(first.CPU!.length).toBeGreaterThan(0);
    expect(first).toMatchObject({
      Memory: { Total: expect.any(Number) },
      DiskStats: [{ Mountpoint: "/" }],
      Timestamp: clock.now() * 1_000_000,
    });
    for (const cpu of first.CPU!) expect(cpu.Idle + cpu.TotalPercent).toBeCloseTo(100, 5);
    const second = await sampler.sample();
    expect(second.CPU).toBe(first.CPU);
    await clock.advance(1000);
    expect((await sampler.sample()).CPU).not.toBe(first.CPU);
  });
});
