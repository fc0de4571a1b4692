/** The detached process of the built-in driver, as the agent sees it: found or started, spoken to, replaced when it is of another kind. */
import { type Clock, sleep } from "@outrider/backoff";
import { type Logger, OutriderError } from "@outrider/foundation";
import { isPluginShutdown } from "@outrider/plugin-driver";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listNames } from "./process-driver/files.ts";
import { EXIT_LOCKED } from "./process-driver/lock.ts";
import { PROCESS_PROTOCOL } from "./process-driver/process-protocol.ts";
import { readBootId, signalProcess } from "./process-driver/identity.ts";
import { openStateFolder, PROCESS_SOCKET, type StateFolder } from "./process-driver/state-folder.ts";
import { ProcessConnection } from "./process-connection.ts";

/** A process that does not serve within this time is given up. */
const START_LIMIT_MS = 20_000;
const SIGTERM = 15;
/** What the driver process gets of the agent's environment; tasks get none of it. */
const PASSED_ENV = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/** How to run the driver process: program and arguments before `--data-dir`. */
export interface DriverCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Options of {@link DriverProcessHost}. */
export interface DriverProcessOptions {
  readonly dataDir: string;
  readonly command: DriverCommand;
  /** Names the program's build; another build that speaks the same protocol is kept. */
  readonly build: string;
  readonly logLevel?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Finds or starts the process. Callers take care of single flight and backoff. */
export class DriverProcessHost {
  readonly #options: DriverProcessOptions;
  readonly #folder: StateFolder;

  constructor(options: DriverProcessOptions) {
    this.#options = options;
    this.#folder = openStateFolder(options.dataDir);
  }

  /** A connection to a process that speaks our protocol. */
  async connect(signal: AbortSignal): Promise<ProcessConnection> {
    const { clock, logger } = this.#options;
    const until = clock.monotonic() + START_LIMIT_MS;
    let child: ChildProcess | undefined;
    let step = 5;
    for (;;) {
      signal.throwIfAborted();
      const connection = await this.#greet(signal);
      if (connection !== undefined) return connection;
      child = this.#startUnlessRunning(child);
      if (clock.monotonic() > until) {
        throw new OutriderError(
          "ERR_OUTRIDER_DRIVER_START",
          `the driver process did not serve within ${START_LIMIT_MS} ms; see ${join(this.#folder.path, "driver.log")}`,
          { recoverable: true },
        );
      }
      logger.trace({ step }, "waiting for the driver process");
      await sleep(step, { clock, signal });
      step = Math.min(step * 1.5, 50);
    }
  }

  /** Ends the process when it holds neither a task nor an output to collect: then nobody needs it before the next agent starts one. */
  endIfIdle(): void {
    const holds = (part: string): boolean => listNames(join(this.#folder.path, part)).length > 0;
    if (!holds("slots") && !holds("logs")) this.#terminate();
  }

  close(): void {
    this.#folder.close();
  }

  /** `undefined`: nobody there, or one that was just asked to leave. */
  async #greet(signal: AbortSignal): Promise<ProcessConnection | undefined> {
    const { build, logger } = this.#options;
    const path = this.#folder.socket(PROCESS_SOCKET);
    if (!existsSync(path)) return undefined;
    const connection = await ProcessConnection.open(path, this.#options);
    if (connection === undefined) return undefined;
    try {
      const { protocol, build: theirs, pid } = await connection.hello(PROCESS_PROTOCOL, build, signal);
      if (protocol === PROCESS_PROTOCOL) {
        logger.debug({ pid, build: theirs }, "connected to the driver process");
        return connection;
      }
      logger.warn(
        { pid, protocol, build: theirs },
        "the driver process speaks another protocol; it is replaced, tasks live on",
      );
    } catch (reason) {
      signal.throwIfAborted();
      if (!isPluginShutdown(reason))
        logger.warn({ err: reason }, "the driver process does not answer; it is replaced, tasks live on");
    }
    await this.#replace(connection);
    return undefined;
  }

  async #replace(connection: ProcessConnection): Promise<void> {
    try {
      if (connection.isGone) this.#terminate(PROCESS_PROTOCOL);
      else await connection.quit();
    } catch {
      this.#terminate();
    } finally {
      connection.close();
    }
  }

  /**
   * Without asking it, as one too old could not be: by the pid it wrote down, checked against its start time. One that hung up may have been
   * replaced already: `spared` is the protocol of those that are left alone.
   */
  #terminate(spared?: number): void {
    try {
      const { pid, startTime, bootId, protocol } = JSON.parse(
        readFileSync(join(this.#folder.path, "driver.json"), "utf8"),
      ) as {
        pid: number;
        startTime: string;
        bootId: string;
        protocol: number;
      };
      if (protocol === spared) return;
      if (bootId === readBootId()) signalProcess({ pid, startTime }, SIGTERM);
    } catch {
      // it wrote nothing: its lock tells the new one
    }
  }

  /** One child at a time; the lock tells it when another process serves already. */
  #startUnlessRunning(child: ChildProcess | undefined): ChildProcess {
    if (child !== undefined) {
      if (child.exitCode === null && child.signalCode === null) return child;
      if (child.exitCode !== EXIT_LOCKED) {
        const how = child.signalCode ?? `code ${child.exitCode}`;
        throw new OutriderError(
          "ERR_OUTRIDER_DRIVER_START",
          `the driver process ended with ${how} before it served; see ${join(this.#folder.path, "driver.log")}`,
          { recoverable: true },
        );
      }
    }
    return this.#spawn();
  }

  #spawn(): ChildProcess {
    const { command, dataDir, build, logLevel, logger } = this.#options;
    const args = [
      ...command.args,
      "--data-dir",
      dataDir,
      "--build",
      build,
      ...(logLevel === undefined ? [] : ["--log-level", logLevel]),
    ];
    const env = Object.fromEntries(
      PASSED_ENV.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    );
    const child = spawn(command.command, args, { detached: true, stdio: "ignore", cwd: "/", env });
    child.on("error", (reason) => logger.error({ err: reason }, "the driver process cannot be started"));
    child.unref();
    return child;
  }
}
