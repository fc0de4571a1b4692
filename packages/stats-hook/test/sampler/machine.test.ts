import { cpus } from "node:os";
import { describe, expect, it } from "vitest";
import { readMachine, readPageBytes } from "../../src/sampler/machine.ts";
import { FakeProc } from "./fake-proc.ts";

const cores = Math.max(1, cpus().length);

describe("the machine", () => {
  it("takes each core's base rate, else its top rate, else what cpuinfo tells, else nothing", () => {
    using proc = new FakeProc();
    expect(readMachine(proc.dir, proc.dir)).toEqual({ cores, totalMHz: 0 });
    proc.file("cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.134\n".repeat(cores));
    expect(readMachine(proc.dir, proc.dir).totalMHz).toBe(Math.round(2596.134 * cores));
    for (let i = 0; i < cores; i++) proc.file(`devices/system/cpu/cpu${i}/cpufreq/cpuinfo_max_freq`, "4000000\n");
    expect(readMachine(proc.dir, proc.dir).totalMHz).toBe(4000 * cores);
    for (let i = 0; i < cores; i++) proc.file(`devices/system/cpu/cpu${i}/cpufreq/base_frequency`, "3000000\n");
    expect(readMachine(proc.dir, proc.dir).totalMHz).toBe(3000 * cores);
  });

  it("finds the page size in the auxiliary vector, else takes 4096", () => {
    using proc = new FakeProc();
    expect(readPageBytes(proc.dir)).toBe(4096);
    const vector = new BigUint64Array([33n, 1n, 6n, 16_384n, 0n, 0n]);
    proc.file("self/auxv", new Uint8Array(vector.buffer));
    expect(readPageBytes(proc.dir)).toBe(16_384);
    proc.file("self/auxv", new Uint8Array(vector.buffer.slice(0, 16)));
    expect(readPageBytes(proc.dir)).toBe(4096);
  });
});
