import { type PathText, structError } from "../error.ts";

/** Deepest nesting of a body that is accepted by default. Stock Nomad takes lists 200 deep in driver configs. @public */
export const DEFAULT_MAX_DEPTH = 512;
/** Most values of a body that are accepted by default. @public */
export const DEFAULT_MAX_NODES = 1_000_000;

/** Bounds of one walk over a body. @public */
export interface Limits {
  /** Deepest nesting of objects and lists; default {@link DEFAULT_MAX_DEPTH}. */
  readonly maxDepth?: number;
  /** Most values, keys not counted; default {@link DEFAULT_MAX_NODES}. */
  readonly maxNodes?: number;
}

/** Counts one walk; every value that is entered passes here. */
export class Budget {
  readonly #maxDepth: number;
  readonly #maxNodes: number;
  #nodes = 0;
  #depth = 0;

  constructor(limits: Limits) {
    this.#maxDepth = limits.maxDepth ?? DEFAULT_MAX_DEPTH;
    this.#maxNodes = limits.maxNodes ?? DEFAULT_MAX_NODES;
  }

  enter(path: PathText): void {
    this.#nodes += 1;
    this.#depth += 1;
    if (this.#depth > this.#maxDepth) {
      const why = `is nested deeper than ${this.#maxDepth} levels`;
      throw structError("ERR_OUTRIDER_STRUCTS_TOO_DEEP", path.toString().slice(0, 200), this.#depth, why);
    }
    if (this.#nodes > this.#maxNodes) {
      const why = `the body holds more than ${this.#maxNodes} values`;
      throw structError("ERR_OUTRIDER_STRUCTS_TOO_LARGE", path.toString().slice(0, 200), this.#nodes, why);
    }
  }

  leave(): void {
    this.#depth -= 1;
  }
}
