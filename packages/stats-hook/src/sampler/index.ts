export { cgroupDirs, detectCgroups, type CgroupDirs, type CgroupLayout, type CgroupMode } from "./cgroup-layout.ts";
export { MIN_WINDOW_MS } from "./rate-window.ts";
export {
  createSampler,
  DEFAULT_LIST_INTERVAL_MS,
  DEFAULT_MAX_OPEN_FILES,
  DEFAULT_PID_INTERVAL_MS,
  type Sampler,
  type SamplerOptions,
  type SamplerStats,
} from "./sampler.ts";
export type { SampleTarget } from "./task-reader.ts";
export type { CpuUsage, MemoryUsage, ResourceUsage, TaskUsage } from "./usage.ts";
