/** `alloc logs -f` of a task that prints much more than anybody reads: every byte arrives, and nobody's memory grows. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cleanEnv, jobOf, LONG, MAIN, Rig } from "./harness.ts";

const SECONDS = LONG ? 20 : 5;
const RATE_BYTES = 50 * 1024 * 1024;
const RECORD_BYTES = 1024;
const RECORDS = (SECONDS * RATE_BYTES) / RECORD_BYTES;
/** Of ten files: half as much again as is printed, and no more, since not every machine has it. */
const FILE_MB = Math.ceil((SECONDS * 50 * 1.5) / 10);
/** What a process may hold more at its most than in the first part of the reading, MiB. The short run ends while heaps still settle. */
const GROWTH_MB = LONG ? 64 : 128;
const FIRST_PART = 0.4;

/** Prints numbered records of one size at a steady rate, then waits. */
const PRINTER = `
const { writeSync } = require("fs");
const chunk = Buffer.alloc(64 * ${RECORD_BYTES}, "x");
const write = (bytes) => {
  for (let at = 0; at < bytes.length; ) {
    try { at += writeSync(1, bytes, at); } catch (e) { if (e.code !== "EAGAIN") throw e; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); }
  }
};
const start = Date.now();
let done = 0;
const timer = setInterval(() => {
  const due = Math.min(${RECORDS}, Math.floor((Date.now() - start) * ${RATE_BYTES / RECORD_BYTES / 1000}));
  while (done + 64 <= due) {
    for (let i = 0; i < 64; i++) {
      chunk.write(String(done + i).padStart(12, "0") + " ", i * ${RECORD_BYTES}, "latin1");
      chunk[(i + 1) * ${RECORD_BYTES} - 1] = 10;
    }
    write(chunk);
    done += 64;
  }
  if (done === ${RECORDS}) { clearInterval(timer); process.stderr.write(String(Date.now() - start)); setInterval(() => {}, 1e6); }
}, 5);
`;

let rig: Rig;
beforeEach(async () => {
  rig = new Rig("logs");
  await rig.start();
});
afterEach(() => rig.close());

const rssMb = (pid: number): number => {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib ?? 0) / 1024;
};

/** User and system time, in hundredths of a second. */
const cpuTicks = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /, "")
    .split(" ");
  return Number(fields[11]) + Number(fields[12]);
};

describe("alloc logs -f", () => {
  it(
    `of a task that prints 50 MB/s for ${SECONDS} s loses nothing, and no process grows`,
    async () => {
      const task = {
        Name: "t",
        Driver: "raw_exec",
        Config: { command: process.execPath, args: ["-e", PRINTER] },
        Resources: { CPU: 1, MemoryMB: 100 },
        KillTimeout: 2e9,
        LogConfig: { MaxFiles: 10, MaxFileSizeMB: FILE_MB },
      };
      await rig.submit(jobOf("loud", [task], { group: { EphemeralDisk: { SizeMB: 10 * FILE_MB + 50 } } }));
      const alloc = await rig.alloc("loud", "running", (a) => a.ClientStatus === "running");
      const start = performance.now();
      const cli = spawn(process.execPath, [MAIN, "alloc", "logs", "-f", alloc.ID, "t"], {
        env: cleanEnv(rig.cliEnv()),
        stdio: ["ignore", "pipe", "inherit"],
      });
      const pids = { agent: rig.agentPid, driver: rig.driverPid, cli: cli.pid ?? 0 };
      const settled: Record<string, number> = {};
      const most: Record<string, number> = { agent: 0, driver: 0, cli: 0 };
      const used: Record<string, number> = {};
      let next = 0;
      const sampler = setInterval(() => {
        for (const [name, pid] of Object.entries(pids)) {
          const now = rssMb(pid);
          if (next < RECORDS * FIRST_PART) settled[name] = Math.max(settled[name] ?? 0, now);
          most[name] = Math.max(most[name] ?? 0, now);
          used[name] = cpuTicks(pid);
        }
      }, 250);
      try {
        let rest = Buffer.alloc(0);
        for await (const piece of cli.stdout as AsyncIterable<Buffer>) {
          const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
          let at = 0;
          for (; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
            const number = Number(bytes.toString("latin1", at, at + 12));
            if (number !== next || bytes[at + RECORD_BYTES - 1] !== 10)
              throw new Error(`record ${next}: found ${number}`);
            next++;
          }
          rest = Buffer.from(bytes.subarray(at));
          if (next === RECORDS) break;
        }
        expect([next, rest.length]).toEqual([RECORDS, 0]);
      } finally {
        clearInterval(sampler);
        cli.kill("SIGKILL");
      }
      const seconds = (performance.now() - start) / 1000;
      const cpu = Object.entries(used).map(([name, ticks]) => `${name} ${(ticks / 100).toFixed(1)} s`);
      const growth = Object.entries(most).map(
        ([name, mb]) => `${name} ${Math.round(settled[name] ?? mb)} → ${Math.round(mb)} MB`,
      );
      const printed = await rig.call<string>("GET", `/v1/client/fs/logs/${alloc.ID}?task=t&type=stderr&plain=true`);
      console.log(
        `${(RECORDS * RECORD_BYTES) / 1e6} MB printed in ${Number(printed) / 1000} s, read to the end after ${seconds.toFixed(1)} s; RSS ${growth.join(", ")}; CPU ${cpu.join(", ")}`,
      );
      for (const [name, mb] of Object.entries(most)) expect(mb - (settled[name] ?? mb), name).toBeLessThan(GROWTH_MB);
    },
    SECONDS * 15_000,
  );
});
