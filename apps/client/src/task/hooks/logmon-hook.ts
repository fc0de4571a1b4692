import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import type { Task } from "@outrider/nomad-structs";
import type { Capabilities } from "@outrider/plugin-driver";
import type { LogCollectorPort } from "../ports.ts";
import { logFifos } from "../task-config.ts";

/** Sizes of a job without a `logs` block. */
const DEFAULT_MAX_FILES = 10;
const DEFAULT_MAX_FILE_SIZE_MB = 10;

export interface LogmonHookOptions {
  readonly collector: LogCollectorPort;
  readonly allocId: string;
  readonly task: () => Task;
  readonly capabilities: () => Capabilities;
}

/** Collects the task's output; asked for before every start, since the collector may have been replaced. */
export function logmonHook(options: LogmonHookOptions): TaskHook<TaskDir> {
  const { collector, capabilities } = options;
  const id = (): string => `${options.allocId}/${options.task().Name}`;
  const off = (): boolean => options.task().LogConfig?.Disabled === true || capabilities().disableLogCollection;
  return {
    name: "logmon",
    async prestart({ taskDir, task }, signal) {
      if (off()) return;
      const fifos = logFifos(taskDir, task.Name);
      await collector.start(
        {
          id: id(),
          taskName: task.Name,
          logDir: taskDir.logDir,
          stdoutFifo: fifos.stdout,
          stderrFifo: fifos.stderr,
          maxFiles: task.LogConfig?.MaxFiles ?? DEFAULT_MAX_FILES,
          maxFileSizeMb: task.LogConfig?.MaxFileSizeMB ?? DEFAULT_MAX_FILE_SIZE_MB,
        },
        signal,
      );
    },
    async stop() {
      if (!off()) await collector.stop(id());
    },
  };
}
