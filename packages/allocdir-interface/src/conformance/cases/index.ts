import type { ConformanceCase } from "../case.ts";
import { BUILD_CASES } from "./build.ts";
import { DESTROY_CASES } from "./destroy.ts";
import { ERROR_CASES } from "./errors.ts";
import { LINK_CASES } from "./links.ts";
import { LIST_CASES } from "./list.ts";
import { LOG_CASES } from "./logs.ts";
import { MOUNT_CASES } from "./mounts.ts";
import { MOVE_CASES } from "./move.ts";
import { NAME_CASES } from "./names.ts";
import { PATH_CASES } from "./path.ts";
import { READ_CASES } from "./read.ts";
import { SECRET_PATH_CASES } from "./secret-paths.ts";
import { SNAPSHOT_CASES } from "./snapshot.ts";
import { SPECIAL_FILE_CASES } from "./special-files.ts";
import { STAT_CASES } from "./stat.ts";
import { STREAM_CASES } from "./stream.ts";
import { UNVEIL_CASES } from "./unveil.ts";
import { WATCH_CASES } from "./watch.ts";

/** All cases, in the order of their running. */
export const CASES: readonly ConformanceCase[] = [
  ...NAME_CASES,
  ...BUILD_CASES,
  ...PATH_CASES,
  ...LINK_CASES,
  ...SECRET_PATH_CASES,
  ...SPECIAL_FILE_CASES,
  ...LIST_CASES,
  ...STAT_CASES,
  ...READ_CASES,
  ...WATCH_CASES,
  ...STREAM_CASES,
  ...LOG_CASES,
  ...MOUNT_CASES,
  ...UNVEIL_CASES,
  ...DESTROY_CASES,
  ...ERROR_CASES,
  ...SNAPSHOT_CASES,
  ...MOVE_CASES,
];
