import type { FileChange } from "../alloc-dir-fs.ts";
import type { Look } from "./look.ts";

/** `missing` is told once to a follower of changes when there is nothing at its first look. */
type Told = FileChange | "missing";

/** One who follows a path: what it was told last, and what it has not yet taken. */
export class Follower {
  /** Called once, when it follows no longer. */
  onStop: (() => void) | undefined;
  readonly #waitsForExistence: boolean;
  readonly #pending = new Set<Told>();
  #size: number;
  #first: Look | undefined;
  #mtimeNs: bigint | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #settle: (() => void) | undefined;

  /** `curOffset` is the size known to it; without one it waits until there is something at the path. */
  constructor(curOffset: number | undefined) {
    this.#waitsForExistence = curOffset === undefined;
    this.#size = curOffset ?? 0;
  }

  /** Takes what there is to be told, each thing once, or waits for it. */
  async next(): Promise<Told> {
    while (this.#pending.size === 0) {
      if (this.#failure !== undefined) throw this.#failure.reason;
      await new Promise<void>((resolve) => (this.#settle = resolve));
    }
    const [event] = this.#pending;
    this.#pending.delete(event as Told);
    return event as Told;
  }

  see(look: Look | undefined): void {
    const event = this.#judge(look);
    if (event === undefined) return;
    this.#pending.add(event);
    this.#settle?.();
  }

  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#pending.clear();
    this.#settle?.();
    this.stop();
  }

  stop(): void {
    const onStop = this.onStop;
    this.onStop = undefined;
    onStop?.();
  }

  #judge(look: Look | undefined): Told | undefined {
    if (this.#waitsForExistence) return look === undefined ? undefined : "modified";
    if (look === undefined) return this.#first === undefined ? "missing" : "deleted";
    this.#first ??= look;
    if (look.identity !== this.#first.identity) return "deleted";
    const before = this.#size;
    this.#size = look.size;
    const touched = look.mtimeNs !== this.#mtimeNs;
    this.#mtimeNs = look.mtimeNs;
    if (look.size < before) return "truncated";
    return look.size > before || touched ? "modified" : undefined;
  }
}
