/** Driver plugins of others: executables in the plugin folder that the agent's configuration names. */
import type { Clock } from "@outrider/backoff";
import { type Logger, OutriderError } from "@outrider/foundation";
import { accessSync, constants, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  connectPlugin,
  encodeConfig,
  type HostedDriver,
  launchPlugin,
  type ReattachRecord,
} from "@outrider/plugin-driver/host";
import type { DriverSource, OpenedDriver } from "./driver-source.ts";
import { readTextOrNothing, unlinkQuietly, writeFileAtomic } from "./process-driver/files.ts";

/** A plugin as the agent's configuration names it. */
export interface ExternalPlugin {
  /** File name in the plugin folder. */
  readonly file: string;
  /** The driver's name in job files; it must be the one that the plugin gives itself. */
  readonly name: string;
  readonly args?: readonly string[];
  /** The plugin's `config` block as plain data; checked and completed by its schema. */
  readonly config?: unknown;
}

/** What the sources need. */
export interface ExternalContext {
  readonly pluginDir: string;
  /** Where the records of running plugins are kept, so that the next agent finds them. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One source for each named plugin. Executables that are not named are told of and never run. */
export function externalSources(plugins: readonly ExternalPlugin[], context: ExternalContext): DriverSource[] {
  const { pluginDir, logger } = context;
  const named = new Set(plugins.map(({ file }) => file));
  for (const file of executables(pluginDir, logger)) {
    if (!named.has(file)) logger.warn({ plugin: file }, "plugin is not named in the configuration; it is not run");
  }
  return plugins.map((plugin) => new ExternalSource(plugin, context));
}

class ExternalSource implements DriverSource {
  readonly name: string;
  readonly #plugin: ExternalPlugin;
  readonly #context: ExternalContext;
  readonly #record: string;

  constructor(plugin: ExternalPlugin, context: ExternalContext) {
    this.name = plugin.name;
    this.#plugin = plugin;
    this.#context = context;
    mkdirSync(context.stateDir, { recursive: true, mode: 0o700 });
    this.#record = join(context.stateDir, `${encodeURIComponent(plugin.name)}.json`);
  }

  async open(signal: AbortSignal): Promise<OpenedDriver> {
    const driver = (await this.#reattach(signal)) ?? (await this.#launch(signal));
    try {
      await this.#checkName(driver, signal);
      await driver.setConfig(await this.#configBytes(driver, signal), undefined, signal);
      writeFileAtomic(this.#record, JSON.stringify(driver.reattach), 0o600);
    } catch (reason) {
      await driver.stop();
      throw reason;
    }
    const close = async (): Promise<void> => {
      await driver.stop();
      unlinkQuietly(this.#record);
    };
    return { plugin: driver, gone: driver.gone, close };
  }

  /** The plugin that an agent which was killed has left running. A record that leads nowhere is dropped; no process is signalled for it. */
  async #reattach(signal: AbortSignal): Promise<HostedDriver | undefined> {
    const { clock, logger } = this.#context;
    const text = readTextOrNothing(this.#record);
    if (text === undefined) return undefined;
    try {
      const reattach = JSON.parse(text) as ReattachRecord;
      return await connectPlugin({ reattach, clock, logger: logger.child({ driver: this.name }), signal });
    } catch (reason) {
      signal.throwIfAborted();
      logger.debug({ err: reason, driver: this.name }, "the plugin of an earlier agent is gone; starting a new one");
      unlinkQuietly(this.#record);
      return undefined;
    }
  }

  #launch(signal: AbortSignal): Promise<HostedDriver> {
    const { clock, logger, pluginDir } = this.#context;
    const { file, args = [] } = this.#plugin;
    return launchPlugin({
      command: join(pluginDir, file),
      args,
      logger: logger.child({ driver: this.name }),
      clock,
      signal,
    });
  }

  async #configBytes(driver: HostedDriver, signal: AbortSignal): Promise<Uint8Array> {
    const { config, name } = this.#plugin;
    const schema = (await driver.configSchema(signal)) ?? { kind: "object", attributes: {} };
    return encodeConfig(schema, config ?? {}, { field: `plugin ${name}` });
  }

  async #checkName(driver: HostedDriver, signal: AbortSignal): Promise<void> {
    const info = await driver.info(signal);
    if (info.name === this.name) return;
    const text = `plugin ${this.#plugin.file} calls itself ${JSON.stringify(info.name)}, not ${JSON.stringify(this.name)}`;
    throw new OutriderError("ERR_OUTRIDER_DRIVER_NAME", text, {
      details: { plugin: this.#plugin.file, field: "name", text: info.name },
    });
  }
}

function executables(folder: string, logger: Logger): string[] {
  try {
    return readdirSync(folder).filter((name) => {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return statSync(join(folder, name)).isFile();
      } catch {
        return false;
      }
    });
  } catch (reason) {
    logger.warn({ err: reason, pluginDir: folder }, "plugin folder cannot be read");
    return [];
  }
}
