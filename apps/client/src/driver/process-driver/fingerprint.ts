/** What this driver says about itself and the machine. */
import type { Fingerprint } from "@outrider/plugin-driver";
import type { LaunchHost } from "./launch-plan.ts";
import { terminalWay } from "./terminal.ts";

/** How often it says so without being asked. */
export const FINGERPRINT_MS = 30_000;

/** One report. */
export function fingerprintOf({ tools, cgroups }: LaunchHost, facts: Readonly<Record<string, string>>): Fingerprint {
  const texts: Record<string, string> = {
    "driver.raw_exec": "1",
    "driver.raw_exec.members": cgroups.mode === "none" ? "marker" : `cgroup-${cgroups.mode}`,
    "driver.raw_exec.oom": cgroups.mode === "v2" || cgroups.memory !== undefined ? "counted" : "unknown",
    "driver.raw_exec.users": tools.setpriv !== "" && process.getuid?.() === 0 ? "any" : "own",
    "driver.raw_exec.shell": tools.shellIsBash ? "bash" : "posix",
    "driver.raw_exec.terminal": terminalWay(),
    ...facts,
  };
  const attributes = Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { value }]));
  return { attributes, health: "healthy", healthDescription: "Healthy" };
}
