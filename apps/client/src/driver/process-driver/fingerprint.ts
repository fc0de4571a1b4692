/** What this driver says about itself and the machine. */
import type { Fingerprint } from "@outrider/plugin-driver";
import type { LaunchHost } from "./launch-plan.ts";
import { terminalWay } from "./terminal.ts";

/** How often it says so without being asked. */
export const FINGERPRINT_MS = 30_000;

/** One report. */
export function fingerprintOf(
  { tools, cgroups }: LaunchHost,
  facts: Readonly<Record<string, string>>,
  name: string,
): Fingerprint {
  const driver = `driver.${name}`;
  const texts: Record<string, string> = {
    [driver]: "1",
    [`${driver}.members`]: cgroups.mode === "none" ? "marker" : `cgroup-${cgroups.mode}`,
    [`${driver}.oom`]: cgroups.mode === "v2" || cgroups.memory !== undefined ? "counted" : "unknown",
    [`${driver}.users`]: tools.setpriv !== "" && process.getuid?.() === 0 ? "any" : "own",
    [`${driver}.shell`]: tools.shellIsBash ? "bash" : "posix",
    [`${driver}.terminal`]: terminalWay(),
    ...facts,
  };
  const attributes = Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { value }]));
  return { attributes, health: "healthy", healthDescription: "Healthy" };
}
