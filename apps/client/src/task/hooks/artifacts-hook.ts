import type { TaskHook } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { TASK_EVENT, type TaskArtifact } from "@outrider/nomad-structs";
import { placeInTask, TaskPlaceError } from "../task-place.ts";
import { ArtifactFault, artifactSource, shownSource } from "../artifact/artifact-source.ts";
import { download } from "../artifact/download.ts";
import { messageOf, TaskSetupError } from "../task-hook-failure.ts";

/** Downloads what the task asks for, once; a kill ends a download at once. What was fetched before a failure is not fetched again. */
export function artifactsHook(): TaskHook<TaskDir> {
  const fetched = new Set<string>();
  return {
    name: "artifacts",
    async prestart({ task, taskDir, env, previousState, emit }, signal) {
      const artifacts = task.Artifacts ?? [];
      // No record of having nothing to do: it would only be one more write.
      if (artifacts.length === 0) return;
      for (const [key, value] of Object.entries(previousState)) if (value === "1") fetched.add(key);
      emit({ type: TASK_EVENT.downloadingArtifacts });
      for (const artifact of artifacts) {
        const filled = interpolated(artifact, (text) => env.replace(text));
        const key = JSON.stringify([filled.GetterSource, filled.GetterOptions, filled.GetterMode, filled.RelativeDest]);
        if (fetched.has(key)) continue;
        try {
          const source = artifactSource(filled, { literal: true });
          const place = placeInTask(source.path, { taskDir, replace: (text) => env.replace(text) });
          await download(source, { place, headers: filled.GetterHeaders ?? {}, signal });
        } catch (cause) {
          if (signal.aborted) throw signal.reason;
          const error = `failed to download artifact ${JSON.stringify(shownSource(filled.GetterSource))}: ${messageOf(cause)}`;
          // A block that can never work is not tried again; a server may come back.
          throw new TaskSetupError(
            error,
            { type: TASK_EVENT.failedArtifactDownload, facts: { error } },
            { cause, recoverable: !(cause instanceof ArtifactFault || cause instanceof TaskPlaceError) },
          );
        }
        fetched.add(key);
      }
      return { done: true, state: Object.fromEntries([...fetched].map((key) => [key, "1"])) };
    },
  };
}

function interpolated(artifact: TaskArtifact, replace: (text: string) => string): TaskArtifact {
  const all = (map: Readonly<Record<string, string>> | null): Record<string, string> =>
    Object.fromEntries(Object.entries(map ?? {}).map(([k, v]) => [replace(k), replace(v)]));
  return {
    ...artifact,
    GetterSource: replace(artifact.GetterSource),
    GetterOptions: all(artifact.GetterOptions),
    GetterHeaders: all(artifact.GetterHeaders),
  };
}
