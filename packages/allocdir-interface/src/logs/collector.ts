/** Collects the output of tasks from their fifos into rotated files. */
import type { Clock } from "@outrider/backoff";
import { systemClock } from "@outrider/backoff";
import { type Logger, noopLogger, OutriderError } from "@outrider/foundation";
import { closeSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { ensureFifo, isSameFifo, openFifo } from "./fifo.ts";
import { checkName, LogFolder } from "./log-folder.ts";
import { LogStream, type SpliceParts } from "./log-stream.ts";
import type { NativeLogIo } from "./native-io.ts";
import { type LogLimits, RotatingLog } from "./rotating-log.ts";
import { LogSink } from "./sink.ts";
import { PeekPipe } from "./splice-stream.ts";
import { TurnQueue } from "./turn-queue.ts";

/** How long `stop` and `drain` go on moving what a task left behind. */
export const DRAIN_TIMEOUT_MS = 2_000;

const MEBIBYTE = 1024 * 1024;

/** Options of {@link createLogCollector}. @public */
export interface LogCollectorOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** System calls that make the collection safe against a kill of this process; without them up to 64 KiB a stream may be lost then. */
  readonly native?: NativeLogIo;
}

/** What to collect. @public */
export interface CollectRequest {
  /** Names this collection, for example `<alloc id>/<task>`. */
  readonly key: string;
  /** Folder of the log files, two levels below the allocation's folder, which is trusted; the levels in between may not be links. */
  readonly logDir: string;
  readonly taskName: string;
  /** Paths directly in `logDir`. */
  readonly stdoutFifo: string;
  readonly stderrFifo: string;
  /** Files kept a stream; at least 1. */
  readonly maxFiles: number;
  /** Size of one file in MiB; at least 1. */
  readonly maxFileSizeMb: number;
}

/** Facts about one stream. @public */
export interface LogStreamInfo {
  readonly key: string;
  readonly fifo: string;
  readonly fileIndex: number;
  readonly fileBytes: number;
  /** Bytes thrown away while the disk was full. */
  readonly droppedBytes: number;
}

/** Collects output of many tasks. @public */
export interface LogCollector extends AsyncDisposable {
  /** Makes the fifos if need be and begins to read them. Known key: takes over new limits, mends fifos that were removed. */
  start(request: CollectRequest): Promise<void>;
  /** Moves what is left (at most {@link DRAIN_TIMEOUT_MS}) and forgets the key. Unknown keys are fine. */
  stop(key: string): Promise<void>;
  /** Moves what these fifos hold until they are empty. False = the time ran out, or the disk refuses. Unknown fifos count as empty. */
  drain(fifos: readonly string[], timeoutMs?: number): Promise<boolean>;
  /** Descriptor of an open fifo, for opening further ends through `/proc/self/fd` without following any name. */
  descriptor(fifo: string): number | undefined;
  readonly requests: readonly CollectRequest[];
  readonly streams: readonly LogStreamInfo[];
}

interface Collection {
  request: CollectRequest;
  readonly folder: LogFolder;
  readonly streams: Map<string, LogStream>;
}

/** Makes a collector. Linux only: it reaches names through `/proc/self/fd`. @public */
export function createLogCollector(options: LogCollectorOptions = {}): LogCollector {
  return new Collector(options);
}

class Collector implements LogCollector {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #native: SpliceParts | undefined;
  readonly #turns = new TurnQueue<LogStream>((stream) => stream.turn());
  readonly #collections = new Map<string, Collection>();
  readonly #byFifo = new Map<string, LogStream>();
  /** Start and stop of one key never overlap. */
  readonly #pending = new Map<string, Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor({ clock = systemClock, logger = noopLogger, native }: LogCollectorOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#native =
      native === undefined ? undefined : { io: native, peek: new PeekPipe(native), poller: native.createPoller() };
  }

  get requests(): readonly CollectRequest[] {
    return [...this.#collections.values()].map(({ request }) => request);
  }

  get streams(): readonly LogStreamInfo[] {
    return [...this.#collections].flatMap(([key, { streams }]) =>
      [...streams].map(([fifo, { sink }]) => ({
        key,
        fifo,
        fileIndex: sink.log.index,
        fileBytes: sink.log.size,
        droppedBytes: sink.dropped,
      })),
    );
  }

  start(request: CollectRequest): Promise<void> {
    return this.#serial(request.key, () => this.#start(checked(request)));
  }

  stop(key: string): Promise<void> {
    return this.#serial(key, async () => {
      const collection = this.#collections.get(key);
      if (collection === undefined) return;
      const until = this.#clock.monotonic() + DRAIN_TIMEOUT_MS;
      await Promise.all([...collection.streams.values()].map((stream) => stream.drain(until)));
      this.#collections.delete(key);
      for (const [fifo, stream] of collection.streams) this.#closeStream(fifo, stream);
      collection.folder.close();
    });
  }

  async drain(fifos: readonly string[], timeoutMs: number = DRAIN_TIMEOUT_MS): Promise<boolean> {
    const until = this.#clock.monotonic() + timeoutMs;
    const streams = fifos.map((fifo) => this.#byFifo.get(resolve(fifo))).filter((stream) => stream !== undefined);
    const empty = await Promise.all(streams.map((stream) => stream.drain(until)));
    return empty.every(Boolean);
  }

  descriptor(fifo: string): number | undefined {
    return this.#byFifo.get(resolve(fifo))?.fd;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#collections.keys()].map((key) => this.stop(key)));
    this.#native?.poller.close();
    this.#native?.peek.close();
  }

  async #start(request: CollectRequest): Promise<void> {
    const known = this.#collections.get(request.key);
    if (known !== undefined) {
      if (sameFiles(known.request, request)) return this.#refresh(known, request);
      throw new OutriderError("ERR_OUTRIDER_LOGS_BUSY", `logs: ${request.key} is collected elsewhere already`, {
        details: { field: "key", text: request.key },
      });
    }
    const root = dirname(dirname(request.logDir));
    const folder = new LogFolder(root, [basename(dirname(request.logDir)), basename(request.logDir)]);
    const collection: Collection = { request, folder, streams: new Map() };
    try {
      for (const [fifo, kind] of pairs(request)) await this.#openStream(collection, fifo, kind);
    } catch (reason) {
      for (const [fifo, stream] of collection.streams) this.#closeStream(fifo, stream);
      folder.close();
      throw reason;
    }
    this.#collections.set(request.key, collection);
  }

  async #refresh(collection: Collection, request: CollectRequest): Promise<void> {
    collection.request = request;
    for (const [fifo, kind] of pairs(request)) {
      const stream = collection.streams.get(fifo);
      if (stream !== undefined && isSameFifo(collection.folder, basename(fifo), stream.fd)) {
        stream.sink.log.setLimits(limitsOf(request));
        continue;
      }
      if (stream !== undefined) {
        await stream.drain(this.#clock.monotonic() + DRAIN_TIMEOUT_MS);
        this.#closeStream(fifo, stream);
        collection.streams.delete(fifo);
      }
      await this.#openStream(collection, fifo, kind);
    }
  }

  async #openStream(collection: Collection, fifo: string, kind: string): Promise<void> {
    const { folder, request } = collection;
    const logger = this.#logger.child({ key: request.key, stream: kind });
    await ensureFifo(folder, basename(fifo), this.#native?.io);
    const fd = openFifo(folder, basename(fifo));
    try {
      const log = new RotatingLog({ folder, name: `${request.taskName}.${kind}`, logger, ...limitsOf(request) });
      const sink = new LogSink(log, this.#clock, logger);
      const stream = new LogStream({ fd, sink, clock: this.#clock, turns: this.#turns, native: this.#native });
      collection.streams.set(fifo, stream);
      this.#byFifo.set(fifo, stream);
    } catch (reason) {
      closeSync(fd);
      throw reason;
    }
  }

  #closeStream(fifo: string, stream: LogStream): void {
    if (this.#byFifo.get(fifo) === stream) this.#byFifo.delete(fifo);
    stream.close();
  }

  #serial(key: string, job: () => Promise<void>): Promise<void> {
    const run = (this.#pending.get(key) ?? Promise.resolve()).then(job);
    const settled = run.then(
      () => undefined,
      () => undefined,
    );
    this.#pending.set(key, settled);
    void settled.then(() => {
      if (this.#pending.get(key) === settled) this.#pending.delete(key);
    });
    return run;
  }
}

function pairs(request: CollectRequest): Array<[string, string]> {
  return [
    [request.stdoutFifo, "stdout"],
    [request.stderrFifo, "stderr"],
  ];
}

function limitsOf(request: CollectRequest): LogLimits {
  return { maxFiles: request.maxFiles, maxBytes: request.maxFileSizeMb * MEBIBYTE };
}

function sameFiles(a: CollectRequest, b: CollectRequest): boolean {
  return (
    a.logDir === b.logDir && a.taskName === b.taskName && a.stdoutFifo === b.stdoutFifo && a.stderrFifo === b.stderrFifo
  );
}

function checked(request: CollectRequest): CollectRequest {
  const refuse = (field: keyof CollectRequest, need: string): never => {
    const text = String(request[field]);
    throw new OutriderError("ERR_OUTRIDER_LOGS_REQUEST", `logs: ${field} ${JSON.stringify(text)} ${need}`, {
      details: { field, text },
    });
  };
  if (!request.logDir.startsWith("/")) refuse("logDir", "is not absolute");
  checkName(request.taskName);
  const logDir = resolve(request.logDir);
  const stdoutFifo = resolve(request.stdoutFifo);
  const stderrFifo = resolve(request.stderrFifo);
  if (dirname(stdoutFifo) !== logDir) refuse("stdoutFifo", "is not in logDir");
  if (dirname(stderrFifo) !== logDir) refuse("stderrFifo", "is not in logDir");
  if (stdoutFifo === stderrFifo) refuse("stderrFifo", "is the same as stdoutFifo");
  for (const field of ["maxFiles", "maxFileSizeMb"] as const) {
    if (!Number.isSafeInteger(request[field]) || request[field] < 1) refuse(field, "is no whole number of at least 1");
  }
  return { ...request, logDir, stdoutFifo, stderrFifo };
}
