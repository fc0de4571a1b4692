/** Usage of tasks, by cgroup where there is one, else by their processes. */
import type { Clock } from "@outrider/backoff";
import { type StatsSource } from "./stats-source.ts";
import { StatsNotImplementedError } from "@outrider/plugin-driver";

export function createStatsSource(_clock: Clock): StatsSource {
  return {
    async *stream() {
      throw new StatsNotImplementedError();
    },
  };
}
