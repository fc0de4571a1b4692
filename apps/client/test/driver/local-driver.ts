/** The driver inside this process, without the detached one around it: for shells and machines of other kinds. */
import { systemClock } from "@outrider/backoff";
import { noopLogger } from "@outrider/foundation";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CgroupMounts, findCgroups } from "../../src/driver/process-driver/cgroup-mounts.ts";
import { findHostTools, type HostTools } from "../../src/driver/process-driver/host-tools.ts";
import { readBootId } from "../../src/driver/process-driver/identity.ts";
import { ProcessDriver } from "../../src/driver/process-driver/process-driver.ts";
import { createShimSpawner, type ShimSpawner } from "../../src/driver/process-driver/shim-spawner.ts";
import { Supervisor } from "../../src/driver/process-driver/supervisor.ts";
import { TaskStats } from "../../src/driver/process-driver/task-stats.ts";
import { TaskStore } from "../../src/driver/process-driver/task-store.ts";

export interface LocalDriver {
  readonly folder: string;
  readonly supervisor: Supervisor;
  readonly driver: ProcessDriver;
  /** A new driver on the same folder, as after a kill. */
  again(): ProcessDriver;
  close(): void;
}

export function makeLocalDriver(
  o: { tools?: Partial<HostTools>; cgroups?: CgroupMounts; spawner?: ShimSpawner } = {},
): LocalDriver {
  const folder = mkdtempSync(join(tmpdir(), "outrider-local-"));
  mkdirSync(folder, { recursive: true });
  const tools = { ...findHostTools(), ...o.tools };
  const cgroups = o.cgroups ?? findCgroups();
  const make = (): { supervisor: Supervisor; driver: ProcessDriver } => {
    const supervisor = new Supervisor({
      store: new TaskStore(folder),
      tools,
      cgroups,
      logs: { drain: async () => true, descriptor: () => undefined },
      spawner: o.spawner ?? createShimSpawner(noopLogger),
      bootId: readBootId(),
      clock: systemClock,
      logger: noopLogger,
    });
    supervisor.watch();
    supervisor.recover();
    const host = { tools, cgroups, searchPath: process.env["PATH"] ?? "" };
    const stats = new TaskStats(systemClock, noopLogger);
    return {
      supervisor,
      driver: new ProcessDriver({ supervisor, host, stats, facts: {}, clock: systemClock, logger: noopLogger }),
    };
  };
  let current = make();
  return {
    folder,
    get supervisor() {
      return current.supervisor;
    },
    get driver() {
      return current.driver;
    },
    again() {
      current.supervisor.close();
      current = make();
      return current.driver;
    },
    close() {
      current.supervisor.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
