import { systemClock, type Clock } from "@outrider/backoff";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { FileChange } from "../alloc-dir-fs.ts";
import { Follower } from "./follower.ts";
import type { Look } from "./look.ts";

export type { Look } from "./look.ts";

/** How often a path is looked at where nothing tells of changes, ms. */
export const POLL_MS = 250;
/** The same where something does: a net for what it misses, ms. */
export const NET_MS = 1000;
/** However busy a file is, it is looked at no more often, ms. */
export const MIN_GAP_MS = 50;

/** Tells that something may have happened; `alive` says whether it still can. */
export interface ChangeHint extends Disposable {
  readonly alive: boolean;
}

/** What a {@link WatchHub} needs of a layout. */
export interface WatchHubOptions {
  /** Resolves the path anew, with all checks; undefined if there is nothing. Its failures end the watching of that path. */
  readonly look: (path: string) => Promise<Look | undefined>;
  /** Calls `wake` when something may have happened at the path; undefined where nothing tells, then the path is polled. */
  readonly hint?: (path: string, wake: () => void) => Promise<ChangeHint | undefined>;
  readonly clock?: Clock | undefined;
}

/** Watches paths for any number of followers: all followers of one path share one watch. */
export class WatchHub {
  readonly #o: WatchHubOptions;
  readonly #clock: Clock;
  readonly #watched = new Map<string, Watched>();

  constructor(o: WatchHubOptions) {
    this.#o = o;
    this.#clock = o.clock ?? systemClock;
  }

  /** Paths that are watched now. */
  get watches(): number {
    return this.#watched.size;
  }

  /** See `AllocDirFS.changeEvents`. */
  async *changeEvents(
    path: string,
    curOffset: number,
    o: { readonly signal: AbortSignal },
  ): AsyncGenerator<FileChange, void> {
    o.signal.throwIfAborted();
    const follower = this.#follow(path, new Follower(curOffset), o.signal);
    try {
      for (;;) {
        const event = await follower.next();
        if (event === "missing") throw notFound(path);
        yield event;
        if (event === "deleted") return;
      }
    } finally {
      follower.stop();
    }
  }

  /** See `AllocDirFS.blockUntilExists`. */
  async blockUntilExists(path: string, o: { readonly signal: AbortSignal }): Promise<void> {
    o.signal.throwIfAborted();
    const follower = this.#follow(path, new Follower(undefined), o.signal);
    try {
      await follower.next();
    } finally {
      follower.stop();
    }
  }

  /** Ends all watching with this reason. */
  end(reason: unknown): void {
    for (const watched of this.#watched.values()) watched.end(reason);
  }

  #follow(path: string, follower: Follower, signal: AbortSignal): Follower {
    const known = this.#watched.get(path);
    const watched = known ?? new Watched(path, this.#o, this.#clock);
    watched.add(follower, signal);
    if (known === undefined) {
      this.#watched.set(path, watched);
      void watched.run(() => this.#watched.delete(path));
    }
    return follower;
  }
}

const notFound = (path: string): AllocDirError =>
  new AllocDirError("NOT_FOUND", `${JSON.stringify(path)}: no such file or directory`, path);

/** One path and its followers. */
class Watched {
  readonly #path: string;
  readonly #o: WatchHubOptions;
  readonly #clock: Clock;
  readonly #followers = new Set<Follower>();
  #woken = true;
  #hinted = false;
  #resume: (() => void) | undefined;

  constructor(path: string, o: WatchHubOptions, clock: Clock) {
    this.#path = path;
    this.#o = o;
    this.#clock = clock;
  }

  add(follower: Follower, signal: AbortSignal): void {
    this.#followers.add(follower);
    const onAbort = (): void => follower.fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    follower.onStop = () => {
      signal.removeEventListener("abort", onAbort);
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.#wake();
    };
    // What it is told comes from a look that began after it came.
    this.#wake();
  }

  end(reason: unknown): void {
    for (const follower of this.#followers) follower.fail(reason);
  }

  async run(over: () => void): Promise<void> {
    let hint: ChangeHint | undefined;
    while (this.#followers.size > 0) {
      this.#woken = false;
      this.#hinted = false;
      const audience = [...this.#followers];
      try {
        if (hint?.alive !== true) {
          hint?.[Symbol.dispose]();
          hint = await this.#o.hint?.(this.#path, () => this.#onHint());
        }
        const look = await this.#o.look(this.#path);
        for (const follower of audience) follower.see(look);
        // A new file under the name, or none: what told of the old one tells nothing more.
        if (look === undefined) {
          hint?.[Symbol.dispose]();
          hint = undefined;
        }
      } catch (reason) {
        for (const follower of audience) follower.fail(reason);
      }
      if (this.#followers.size > 0) await this.#pause(hint);
    }
    over();
    hint?.[Symbol.dispose]();
  }

  /** Waits until the path is to be looked at again. */
  async #pause(hint: ChangeHint | undefined): Promise<void> {
    await this.#wait(MIN_GAP_MS, () => this.#woken);
    if (this.#followers.size === 0) return;
    const ms = (hint?.alive === true ? NET_MS : POLL_MS) - MIN_GAP_MS;
    await this.#wait(ms, () => this.#woken || this.#hinted);
  }

  #wait(ms: number, over: () => boolean): Promise<void> {
    if (over()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        this.#clock.clearTimeout(timer);
        this.#resume = undefined;
        resolve();
      };
      const timer = this.#clock.setTimeout(done, ms);
      this.#resume = () => {
        if (over()) done();
      };
    });
  }

  /** Looks at once: somebody came or went. */
  #wake(): void {
    this.#woken = true;
    this.#resume?.();
  }

  #onHint(): void {
    this.#hinted = true;
    this.#resume?.();
  }
}
