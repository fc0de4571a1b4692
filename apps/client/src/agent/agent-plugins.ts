/** Driver plugins of others, as flags name them. */
import { resolve } from "node:path";
import { OutriderError } from "@outrider/foundation";
import type { ExternalPlugin } from "../driver/external-source.ts";

interface PluginSettings {
  readonly plugins?: readonly string[] | undefined;
  readonly pluginConfigs?: readonly string[] | undefined;
}

const DRIVER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** @throws ERR_OUTRIDER_AGENT_CONFIG naming flag and offending text */
export function resolvePlugins(
  flags: PluginSettings,
  dir: string,
  cwd: string,
): { readonly pluginDir: string | undefined; readonly plugins: readonly ExternalPlugin[] } {
  const configs = new Map((flags.pluginConfigs ?? []).map((text) => readConfig(text)));
  const plugins = (flags.plugins ?? []).map((text): ExternalPlugin => {
    const [name, file] = pair("-plugin", text, "driver=file");
    if (file.includes("/")) throw bad("-plugin", text, "names a file of the plugin folder, not a path");
    const config = configs.get(name);
    configs.delete(name);
    return { name, file, ...(config === undefined ? {} : { config }) };
  });
  const [stray] = configs.keys();
  if (stray !== undefined) throw bad("-plugin-config", stray, "is for a driver that no -plugin names");
  const twice = plugins.find(({ name }, i) => plugins.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined) throw bad("-plugin", twice.name, "is given twice");
  if (dir === "" && plugins.length > 0) throw bad("-plugin", plugins[0]?.name ?? "", "needs -plugin-dir");
  return { pluginDir: dir === "" ? undefined : resolve(cwd, dir), plugins };
}

function readConfig(text: string): [name: string, config: unknown] {
  const [name, json] = pair("-plugin-config", text, "driver={…}");
  try {
    return [name, JSON.parse(json) as unknown];
  } catch (cause) {
    throw bad("-plugin-config", text, "is no JSON behind the equals sign", cause);
  }
}

function pair(flag: string, text: string, form: string): [name: string, value: string] {
  const equals = text.indexOf("=");
  const name = text.slice(0, Math.max(equals, 0));
  const value = text.slice(equals + 1);
  if (!DRIVER.test(name) || value === "") throw bad(flag, text, `is not of the form ${form}`);
  return [name, value];
}

function bad(flag: string, value: string, what: string, cause?: unknown): OutriderError {
  return new OutriderError("ERR_OUTRIDER_AGENT_CONFIG", `${flag} ${JSON.stringify(value)} ${what}`, {
    details: { flag, value },
    ...(cause === undefined ? {} : { cause }),
  });
}
