import type { AllocRunner, MigrationOutcome, PreviousAllocs } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import { fetchArchive, stageArchive } from "@outrider/allocdir-interface/migrate";
import type { Allocation, EphemeralDisk } from "@outrider/nomad-structs";
import { isClientTerminal } from "@outrider/nomad-structs";
import type { ServerLink } from "./server-link.ts";

/** A disk from elsewhere may be larger than its block says by so much: sizes are not enforced while a task runs. */
const SIZE_SLACK = 1.1;
const MEBIBYTE = 1024 * 1024;

/** Where a previous allocation may be. */
export interface PreviousAllocOptions {
  /** The one that replaces it. */
  readonly alloc: Allocation;
  readonly nodeId: string;
  /** The directory of all allocations. */
  readonly allocRoot: string;
  readonly runnerOf: (id: string) => AllocRunner<AllocDir> | undefined;
  readonly link: Pick<ServerLink, "findDisk">;
  /** Keeps an allocation from being collected until the result is called. */
  readonly hold: (id: string) => () => void;
}

/** What a replacement waits for, and whose disk it takes over: by a move on this node, by HTTP from another. */
export class PreviousAlloc implements PreviousAllocs<AllocDir> {
  readonly #o: PreviousAllocOptions;
  readonly #id: string;
  #waiting = false;
  #migrating = false;

  constructor(o: PreviousAllocOptions) {
    this.#o = o;
    this.#id = o.alloc.PreviousAllocation;
  }

  isWaiting(): boolean {
    return this.#waiting;
  }

  isMigrating(): boolean {
    return this.#migrating;
  }

  async wait(signal: AbortSignal): Promise<void> {
    const previous = this.#o.runnerOf(this.#id);
    if (previous === undefined || isClientTerminal(previous.allocState().clientStatus)) return;
    this.#waiting = true;
    try {
      await untilAbort(previous.waitDone, signal);
    } finally {
      this.#waiting = false;
    }
  }

  async migrate(destination: AllocDir, signal: AbortSignal): Promise<MigrationOutcome | undefined> {
    const disk = this.#group()?.EphemeralDisk;
    if (this.#id === "" || disk === undefined || disk === null || !(disk.Sticky || disk.Migrate)) return undefined;
    this.#migrating = true;
    try {
      const previous = this.#o.runnerOf(this.#id);
      // A failed one may still be stopping the rest of its tasks.
      if (previous !== undefined) await untilAbort(previous.waitDone, signal);
      return previous === undefined || previous.isDestroyed()
        ? await this.#remote(destination, disk, signal)
        : await this.#local(previous, destination, signal);
    } finally {
      this.#migrating = false;
    }
  }

  async #local(previous: AllocRunner<AllocDir>, destination: AllocDir, signal: AbortSignal): Promise<MigrationOutcome> {
    const release = this.#o.hold(this.#id);
    try {
      const { moved } = await destination.move(previous.getAllocDir(), this.#tasks(), { signal });
      if (moved.length === 0) return this.#empty("it has none any more");
      return { migrated: true, text: `Ephemeral disk of ${this.#short()} taken over (${moved.join(", ")})` };
    } finally {
      release();
    }
  }

  async #remote(destination: AllocDir, disk: EphemeralDisk, signal: AbortSignal): Promise<MigrationOutcome> {
    const { alloc, nodeId, allocRoot: root, link } = this.#o;
    if (!disk.Migrate) return this.#empty("it is not on this node, and migrate is not set");
    const place = await link.findDisk({ nodeId, allocId: this.#id, signal });
    if (place === undefined) return this.#empty("no node is known to have it");
    const archive = await fetchArchive({ ...place, allocId: this.#id, signal });
    await using staged = await stageArchive(archive, {
      root,
      allocId: alloc.ID,
      tasks: this.#tasks(),
      maxBytes: Math.ceil(disk.SizeMB * MEBIBYTE * SIZE_SLACK),
      signal,
    });
    const { moved } = await destination.move(staged, this.#tasks(), { signal });
    const text = `Ephemeral disk of ${this.#short()} fetched from ${place.address} (${staged.report.bytes} bytes)`;
    return { migrated: moved.length > 0, text };
  }

  #empty(why: string): MigrationOutcome {
    return { migrated: false, text: `Ephemeral disk of ${this.#short()} not taken over: ${why}` };
  }

  #short(): string {
    return this.#id.slice(0, 8);
  }

  #group(): NonNullable<NonNullable<Allocation["Job"]>["TaskGroups"]>[number] | undefined {
    const { alloc } = this.#o;
    return alloc.Job?.TaskGroups?.find((group) => group.Name === alloc.TaskGroup);
  }

  #tasks(): string[] {
    return (this.#group()?.Tasks ?? []).map((task) => task.Name);
  }
}

async function untilAbort(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, stop } = abortion(signal);
  try {
    await Promise.race([promise, aborted]);
  } finally {
    stop();
  }
}

function abortion(signal: AbortSignal): { readonly promise: Promise<never>; readonly stop: () => void } {
  let onAbort: () => void = () => undefined;
  const promise = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  promise.catch(() => undefined);
  return { promise, stop: () => signal.removeEventListener("abort", onAbort) };
}
