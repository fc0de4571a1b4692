import { endReason, isBeforePoststop, isDead, killInOrder, reasonEvent } from "./alloc-tasks.ts";
import type { TaskRunner } from "../task/task-runner.ts";

export interface AllocEndingOptions {
  readonly runners: () => readonly TaskRunner[];
  /** The hooks' part, before any task is ended. */
  readonly preKill: () => Promise<void>;
  readonly maxRunExceeded: () => boolean;
}

/** Ends the tasks of one allocation, each step once, whoever asks for it. */
export class AllocEnding {
  readonly #o: AllocEndingOptions;
  readonly #stop = new AbortController();
  #killing: Promise<void> | undefined;
  #preKilled: Promise<void> | undefined;
  #leaderAnnounced = false;

  constructor(options: AllocEndingOptions) {
    this.#o = options;
  }

  /** Aborted when the allocation is stopped, and when the agent goes away. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether its tasks are being ended, or have been. */
  get isBegun(): boolean {
    return this.#killing !== undefined;
  }

  /** The agent goes away; tasks live on. */
  shutdown(): void {
    this.#stop.abort(new DOMException("the agent is shutting down", "AbortError"));
  }

  /** Ends all tasks in Nomad's order. */
  kill(): Promise<void> {
    this.#killing ??= this.#kill();
    return this.#killing;
  }

  async #kill(): Promise<void> {
    this.#stop.abort(new DOMException("the allocation is being stopped", "AbortError"));
    await this.#preKill();
    await killInOrder({
      runners: this.#o.runners(),
      maxRunExceeded: this.#o.maxRunExceeded(),
      onLeaderDead: () => this.#announceLeaderDead(),
    });
  }

  /** Ends what must not live on, by the states of the other tasks; with `started`, also what can only be revived. */
  follow(started: boolean): void {
    const runners = this.#o.runners();
    const group = runners.filter(isBeforePoststop);
    const reason = endReason(runners);
    if (reason !== undefined && !this.isBegun) {
      if (reason.kind === "leader") this.#leaderAnnounced = true;
      for (const runner of group) if (!isDead(runner)) runner.record.append(reasonEvent(reason));
      void this.kill();
    }
    if (started && group.every(isDead)) void this.#endGroup(group);
  }

  /** All but poststop tasks are dead: those that could still be revived are let go, so that the run loop can end. */
  async #endGroup(group: readonly TaskRunner[]): Promise<void> {
    await this.#preKill();
    for (const runner of group) if (isDead(runner)) void runner.kill();
  }

  #preKill(): Promise<void> {
    this.#preKilled ??= this.#o.preKill();
    return this.#preKilled;
  }

  #announceLeaderDead(): void {
    if (this.#leaderAnnounced) return;
    this.#leaderAnnounced = true;
    for (const runner of this.#o.runners().filter(isBeforePoststop)) {
      if (!isDead(runner)) runner.record.append(reasonEvent({ kind: "leader" }));
    }
  }
}
