import { bool, duration, int, list, map, object, str, struct, time, uint, unixNano, type Infer } from "../dsl/field.ts";

const eventFields = {
  Type: str(),
  Time: unixNano(),
  Message: str(),
  DisplayMessage: str(),
  Details: map(str()),
  FailsTask: bool(),
  RestartReason: str(),
  SetupError: str(),
  DriverError: str(),
  ExitCode: int(),
  Signal: int(),
  KillTimeout: duration(),
  KillError: str(),
  KillReason: str(),
  StartDelay: int(),
  DownloadError: str(),
  ValidationError: str(),
  DiskLimit: int(),
  FailedSibling: str(),
  VaultError: str(),
  TaskSignalReason: str(),
  TaskSignal: str(),
  DriverMessage: str(),
  GenericSource: str(),
};
/** Something that happened to a task. The fields after `Details` are old copies of its entries. @public */
export interface TaskEvent extends Infer<typeof eventFields> {}
/** The description of {@link TaskEvent}. @public */
export const TaskEventStruct = struct<TaskEvent>("TaskEvent", eventFields);

const stateFields = {
  /** `pending`, `running` or `dead`. */
  State: str(),
  Failed: bool(),
  Restarts: uint(),
  LastRestart: time(),
  StartedAt: time(),
  FinishedAt: time(),
  /** The last ten. */
  Events: list(object(TaskEventStruct)),
  /** One of {@link TASK_PAUSE_STATES}. */
  Paused: str(),
};
/** What a task is doing and did. @public */
export interface TaskState extends Infer<typeof stateFields> {}
/** The description of {@link TaskState}. @public */
export const TaskStateStruct = struct<TaskState>("TaskState", stateFields);
