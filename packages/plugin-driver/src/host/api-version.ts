import type { PluginInfo } from "../contract/driver.ts";

/** Versions of the driver API that this host speaks. */
export const API_VERSIONS: readonly string[] = ["0.1.0"];

/** The plugin's own spelling of a version that both sides speak. */
export function commonApiVersion(info: PluginInfo): string | undefined {
  return info.apiVersions.find((version) => API_VERSIONS.includes(version.replace(/^v/, "")));
}
