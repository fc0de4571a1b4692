/** The wrapped drivers: each one plugin process, launched when first needed and found again after a restart of this plugin. */
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@outrider/backoff";
import { type DriverPlugin, type Fingerprint, RecoverableError } from "@outrider/plugin-driver";
import {
  connectPlugin,
  encodeConfig,
  isAlive,
  launchPlugin,
  type LaunchPluginOptions,
  type ProcessIdentity,
  processIdentity,
  type ReattachRecord,
} from "@outrider/plugin-driver/host";

/** One wrapped driver as the agent's configuration has it. */
export interface InnerSettings {
  readonly command: string;
  readonly args: readonly string[];
  /** JSON text. */
  readonly config_json: string;
}

/** A driver with its end. */
export interface InnerDriver extends DriverPlugin {
  readonly gone: Promise<void>;
  /** Ends the plugin process, not its tasks. */
  stop(): Promise<void>;
}

/** Gives a driver that runs. */
export type OpenInner = (label: string, settings: InnerSettings, stateDir: string) => Promise<InnerDriver>;

/** Takes log lines. */
export type PluginLogger = NonNullable<LaunchPluginOptions["logger"]>;

/** Written as soon as a driver runs, so that the next instance of this plugin finds it. */
interface OwnedRecord {
  readonly owner: ProcessIdentity | undefined;
  readonly command: string;
  readonly reattach: ReattachRecord;
}

const FINGERPRINT_LIMIT_MS = 5_000;

/** All wrapped drivers of this process. */
export class InnerDrivers {
  readonly #openOne: OpenInner;
  readonly #open = new Map<string, Promise<InnerDriver>>();
  #settings: Readonly<Record<string, InnerSettings>> = {};
  #stateDir = "";

  constructor(o: {
    readonly clock: Clock;
    readonly open?: OpenInner;
    readonly logger: () => PluginLogger | undefined;
  }) {
    this.#openOne = o.open ?? openPlugin(o.clock, o.logger);
  }

  /** Called several times, also while the agent only looks at the configuration: nothing is launched here. */
  configure(settings: Readonly<Record<string, InnerSettings>>, stateDir: string): void {
    this.#settings = settings;
    this.#stateDir = stateDir;
  }

  /** The driver behind a label. @throws RecoverableError when there is none; whatever its launch throws */
  get(label: string): Promise<InnerDriver> {
    const settings = Object.hasOwn(this.#settings, label) ? this.#settings[label] : undefined;
    if (settings === undefined) {
      const known = Object.keys(this.#settings).join(", ") || "none";
      return Promise.reject(
        new RecoverableError(`driver ${JSON.stringify(label)} is not one of this plugin's: ${known}`, false),
      );
    }
    const running = this.#open.get(label);
    if (running !== undefined) return running;
    const opening = this.#openOne(label, settings, this.#stateDir);
    const forget = (): void => {
      if (this.#open.get(label) === opening) this.#open.delete(label);
    };
    this.#open.set(label, opening);
    opening.then((driver) => driver.gone.then(forget), forget);
    return opening;
  }

  /** Healthy when all of them are. */
  async fingerprint(): Promise<Partial<Fingerprint>> {
    const labels = Object.keys(this.#settings);
    const attributes = { "driver.windowed.drivers": { value: labels.join(",") } };
    if (labels.length === 0) {
      return { attributes, health: "undetected", healthDescription: "the plugin's config names no driver" };
    }
    const faults = (await Promise.all(labels.map((label) => this.#faultOf(label)))).flat();
    const healthy = faults.length === 0;
    return { attributes, health: healthy ? "healthy" : "unhealthy", healthDescription: faults.join("; ") || "Healthy" };
  }

  async #faultOf(label: string): Promise<string[]> {
    try {
      const driver = await this.get(label);
      for await (const { health, healthDescription } of driver.fingerprint(AbortSignal.timeout(FINGERPRINT_LIMIT_MS))) {
        return health === "healthy" ? [] : [`${label}: ${healthDescription || health}`];
      }
      return [`${label}: no fingerprint`];
    } catch (reason) {
      return [`${label}: ${reason instanceof Error ? reason.message : String(reason)}`];
    }
  }

  /** The agent goes away in an orderly way. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map(async (driver) => (await driver).stop()));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new RecoverableError(`config_json is no JSON: ${JSON.stringify(text)}`, false, { cause });
  }
}

/** Adopts the driver of a dead instance of this plugin, or launches one. */
function openPlugin(clock: Clock, getLogger: () => PluginLogger | undefined): OpenInner {
  return async (label, { command, args, config_json: config }, stateDir) => {
    const logger = getLogger();
    const common = { clock, ...(logger === undefined ? {} : { logger }) };
    ownFolder(stateDir);
    const name = encodeURIComponent(label);
    const file = join(stateDir, `${name}.${process.pid}.json`);
    const env = Object.fromEntries(
      Object.entries(process.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    );
    const adopted = await adopt({ stateDir, name, file, command, common });
    const driver = adopted ?? (await launchPlugin({ command, args, env, ...common }));
    try {
      const schema = await driver.configSchema();
      await driver.setConfig(schema === undefined ? new Uint8Array() : encodeConfig(schema, parsed(config)));
      if (adopted === undefined) await driver.init();
      const record: OwnedRecord = { owner: processIdentity(process.pid), command, reattach: driver.reattach };
      writeFileSync(`${file}.tmp`, JSON.stringify(record), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
    } catch (reason) {
      await driver.stop();
      throw reason;
    }
    void driver.gone.then(() => unlinkQuietly(file));
    return driver;
  };
}

interface Adoption {
  readonly stateDir: string;
  readonly name: string;
  readonly file: string;
  readonly command: string;
  readonly common: { readonly clock: Clock; readonly logger?: PluginLogger };
}

async function adopt(o: Adoption): Promise<Awaited<ReturnType<typeof connectPlugin>> | undefined> {
  for (const entry of readdirSync(o.stateDir)) {
    if (!entry.startsWith(`${o.name}.`) || !entry.endsWith(".json")) continue;
    try {
      const { owner, command, reattach } = JSON.parse(readFileSync(join(o.stateDir, entry), "utf8")) as OwnedRecord;
      if (owner !== undefined && isAlive(owner)) continue;
      // Renaming is the claim: of two instances that look at the same time one gets it.
      renameSync(join(o.stateDir, entry), `${o.file}.tmp`);
      const driver = await connectPlugin({ reattach, ...o.common });
      if (command === o.command) return driver;
      await driver.stop(); // the agent's configuration has changed: its tasks live on
    } catch {
      // another instance was faster, or the process is gone: then there is nothing to adopt
    }
  }
  return undefined;
}

/** What is read here is connected to: nobody else may write it. */
function ownFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0) {
    throw new RecoverableError(
      `state_dir ${folder} must belong to the plugin's user and be writable by nobody else`,
      false,
    );
  }
}

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // gone already
  }
}
