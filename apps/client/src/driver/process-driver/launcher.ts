/** From a task's configuration to a running shim. */
import type { TaskConfig } from "@outrider/plugin-driver";
import { closeSync, constants, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { createGroup, MARKER, procsFiles } from "./group.ts";
import { type ProcessIdentity, readProcStat } from "./identity.ts";
import { installShim } from "./shim.ts";
import { type SpecInput, specText } from "./spec.ts";
import { SpawnQueue } from "./spawn-queue.ts";
import type { SupervisorOptions } from "./supervisor-options.ts";
import { TaskRecord } from "./task-record.ts";
import { META_VERSION } from "./task-store.ts";
import type { LaunchCommand } from "./launch-plan.ts";

const { O_NOFOLLOW, O_RDWR, O_WRONLY } = constants;

/** All that is known before anything is made. */
export interface LaunchPlan {
  readonly config: TaskConfig;
  readonly command: LaunchCommand;
}

/** Prepares folders and files, then spawns shims, a few at a time. */
export class Launcher {
  readonly #options: SupervisorOptions;
  readonly #queue = new SpawnQueue();
  readonly #shimScript: string;
  readonly #stateName: string;
  /** Identities of shims that have not announced themselves yet. */
  readonly #early = new Map<TaskRecord, ProcessIdentity>();
  readonly #owners = new Map<TaskRecord, LaunchCommand>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#shimScript = installShim(options.store.folder);
    const { dev, ino } = statSync(options.store.folder);
    this.#stateName = `${dev.toString(36)}-${ino.toString(36)}`;
  }

  /** Makes cgroups, meta, spec and slot. What was made is taken back on failure. */
  prepare(key: string, { config, command }: LaunchPlan): TaskRecord {
    const { store, cgroups, tools, bootId, clock } = this.#options;
    const group =
      command.ownCgroups.length > 0 ? ({ mode: "none" } as const) : createGroup(cgroups, this.groupName(key));
    const input: SpecInput = {
      cgroupProcs: [...procsFiles(group), ...command.ownCgroups],
      ...(command.oomScoreAdj === undefined ? {} : { oomScoreAdj: command.oomScoreAdj }),
      workDir: command.workDir,
      limits: command.limits,
      ...(command.umask === undefined ? {} : { umask: command.umask }),
      env: { ...command.env, [MARKER]: config.id },
      ...(command.user === undefined ? {} : { user: command.user }),
      program: command.program,
      args: command.args,
    };
    const record = new TaskRecord(
      key,
      {
        version: META_VERSION,
        id: config.id,
        name: config.name,
        allocId: config.allocId,
        bootId,
        startedAtMs: clock.now(),
        fifos: [config.stdoutPath, config.stderrPath],
        group,
        workDir: command.workDir,
      },
      config,
    );
    try {
      store.create(key, record.meta, specText(input, tools));
    } catch (reason) {
      store.remove(key);
      throw reason;
    }
    this.#owners.set(record, command);
    return record;
  }

  /** Spawns the shim when its turn has come. */
  spawn(record: TaskRecord, onExit: () => void): Promise<void> {
    return this.#queue.add(() => this.#spawnNow(record, onExit));
  }

  /** The shim of a start that is under way. */
  shimOf(record: TaskRecord): ProcessIdentity | undefined {
    return this.#early.get(record);
  }

  release(record: TaskRecord): void {
    this.#early.delete(record);
    this.#owners.delete(record);
  }

  async #spawnNow(record: TaskRecord, onExit: () => void): Promise<void> {
    const { store, tools, spawner } = this.#options;
    const uid = this.#owners.get(record)?.user?.uid;
    const fds: number[] = [];
    try {
      fds.push(openSync(store.slotPath(record.key), O_RDWR | O_NOFOLLOW));
      const paths = record.meta.fifos.map((fifo) => this.#outputPath(fifo));
      for (const path of paths) fds.push(this.#openOutput(path, O_RDWR, uid));
      for (const path of paths) fds.push(this.#openOutput(path, O_WRONLY, undefined));
      const pid = await spawner.spawn(tools.shell, [this.#shimScript, store.specPath(record.key)], fds, onExit);
      const stat = readProcStat(pid);
      if (stat !== undefined) this.#early.set(record, { pid, startTime: stat.startTime });
    } finally {
      for (const fd of fds) closeSync(fd);
    }
  }

  /** A fifo that the collector holds is opened through its descriptor: no name in the task's folder is followed. */
  #outputPath(path: string): string {
    const fd = this.#options.logs.descriptor(path);
    return fd === undefined ? path : `/proc/self/fd/${fd}`;
  }

  /** Never non-blocking: that flag belongs to the open file, and the task would get EAGAIN. */
  #openOutput(path: string, flags: number, uid: number | undefined): number {
    const fd = openSync(path, path.startsWith("/proc/self/fd/") ? flags : flags | O_NOFOLLOW);
    // so that the task can open /dev/stdout anew
    if (uid !== undefined && fstatSync(fd).isFIFO()) fchownSync(fd, uid, -1);
    return fd;
  }

  /** Where a task's cgroups lie below ours: apart from those of another agent on this machine. */
  groupName(key: string): string {
    return join(this.#stateName, key);
  }
}
