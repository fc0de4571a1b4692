import type { ConformanceCase } from "../case.ts";
import { BUILD_CASES } from "./build.ts";
import { DESTROY_CASES } from "./destroy.ts";
import { ERROR_CASES } from "./errors.ts";
import { FILE_CASES } from "./files.ts";
import { MOUNT_CASES } from "./mounts.ts";
import { MOVE_CASES } from "./move.ts";
import { NAME_CASES } from "./names.ts";
import { PATH_CASES } from "./path.ts";
import { SNAPSHOT_CASES } from "./snapshot.ts";
import { STREAM_CASES } from "./stream.ts";
import { WATCH_CASES } from "./watch.ts";

/** All cases, in the order of their running. */
export const CASES: readonly ConformanceCase[] = [
  ...NAME_CASES,
  ...BUILD_CASES,
  ...PATH_CASES,
  ...FILE_CASES,
  ...WATCH_CASES,
  ...STREAM_CASES,
  ...MOUNT_CASES,
  ...DESTROY_CASES,
  ...ERROR_CASES,
  ...SNAPSHOT_CASES,
  ...MOVE_CASES,
];
