/** Which outputs are collected, on disk: a driver process that takes over goes on with them. */
import type { CollectRequest, LogCollector } from "@outrider/allocdir-interface/logs";
import type { Logger } from "@outrider/foundation";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FilePool } from "./file-pool.ts";
import { listNames, unlinkQuietly } from "./files.ts";

/** A collector whose requests survive this process. */
export class LogRegistry {
  readonly #folder: string;
  readonly #collector: LogCollector;
  readonly #pool: FilePool;
  readonly #logger: Logger;

  constructor(folder: string, collector: LogCollector, pool: FilePool, logger: Logger) {
    this.#folder = join(folder, "logs");
    this.#collector = collector;
    this.#pool = pool;
    this.#logger = logger;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Nothing is collected. */
  get isEmpty(): boolean {
    return listNames(this.#folder).length === 0;
  }

  async start(request: CollectRequest): Promise<void> {
    await this.#collector.start(request);
    this.#pool.replace(this.#path(request.key), JSON.stringify(request));
  }

  async stop(key: string): Promise<void> {
    await this.#collector.stop(key);
    this.#pool.give(this.#path(key));
  }

  /** Opens all fifos again. A request whose folder is gone is dropped. */
  async restore(): Promise<void> {
    const names = listNames(this.#folder).filter((name) => name.endsWith(".json"));
    await Promise.all(names.map((name) => this.#restoreOne(join(this.#folder, name))));
  }

  async #restoreOne(path: string): Promise<void> {
    try {
      await this.#collector.start(JSON.parse(readFileSync(path, "utf8")) as CollectRequest);
    } catch (reason) {
      this.#logger.info({ err: reason }, "output is not collected any more");
      unlinkQuietly(path);
    }
  }

  #path(key: string): string {
    return join(this.#folder, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`);
  }
}
