/** Driver plugins of others: executables in the plugin folder that the agent's configuration names. */
import type { Clock } from "@outrider/backoff";
import { type Logger, OutriderError } from "@outrider/foundation";
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { launchPlugin } from "@outrider/plugin-driver/host";
import type { DriverSource, OpenedDriver } from "./driver-source.ts";

/** A plugin as the agent's configuration names it. */
export interface ExternalPlugin {
  /** File name in the plugin folder. */
  readonly file: string;
  /** The driver's name in job files; it must be the one that the plugin gives itself. */
  readonly name: string;
  readonly args?: readonly string[];
  /** The plugin's `config` block, encoded by its schema; absent = none. */
  readonly config?: Uint8Array;
}

/** One source for each named plugin. Executables that are not named are told of and never run. */
export async function externalSources(
  pluginDir: string,
  plugins: readonly ExternalPlugin[],
  clock: Clock,
  logger: Logger,
): Promise<DriverSource[]> {
  const named = new Set(plugins.map(({ file }) => file));
  for (const file of executables(pluginDir, logger)) {
    if (!named.has(file)) logger.warn({ plugin: file }, "plugin is not named in the configuration; it is not run");
  }
  return plugins.map((plugin) => source(join(pluginDir, plugin.file), plugin, clock, logger));
}

function source(command: string, plugin: ExternalPlugin, clock: Clock, logger: Logger): DriverSource {
  const { name, args = [], config = new Uint8Array() } = plugin;
  return {
    name,
    async open(signal): Promise<OpenedDriver> {
      const driver = await launchPlugin({ command, args, logger: logger.child({ driver: name }), clock, signal });
      try {
        const info = await driver.info(signal);
        if (info.name !== name) {
          throw new OutriderError(
            "ERR_OUTRIDER_DRIVER_NAME",
            `plugin ${command} calls itself ${JSON.stringify(info.name)}, not ${JSON.stringify(name)}`,
            {
              details: { plugin: command, field: "name", text: info.name },
            },
          );
        }
        await driver.setConfig(config, undefined, signal);
        await driver.init?.(signal);
        return { plugin: driver, gone: driver.gone, close: () => driver.stop() };
      } catch (reason) {
        await driver.stop();
        throw reason;
      }
    },
  };
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
