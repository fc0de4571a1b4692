import type { TaskConfig, TaskHandle } from "@outrider/plugin-driver";

/** A task handle as JSON. The driver config is left out: it may hold secrets, and no driver may need it to recover a task. */
export interface StoredHandle {
  readonly version: number;
  readonly config: Omit<TaskConfig, "msgpackDriverConfig">;
  readonly state: TaskHandle["state"];
  /** Base64. */
  readonly driverState: string;
}

/** What is kept of a handle. */
export function storeHandle(handle: TaskHandle): StoredHandle {
  const { msgpackDriverConfig: _config, ...config } = handle.config;
  const driverState = Buffer.from(handle.driverState).toString("base64");
  return { version: handle.version, config, state: handle.state, driverState };
}

/** What is kept before a start: enough to find the task should the answer get lost. */
export function storeStarting(config: TaskConfig): StoredHandle {
  return storeHandle({ version: 1, config, state: "unknown", driverState: new Uint8Array() });
}

/** The handle to hand to a driver. */
export function loadHandle(stored: StoredHandle): TaskHandle {
  return {
    version: stored.version,
    config: { ...stored.config, msgpackDriverConfig: new Uint8Array() },
    state: stored.state,
    driverState: new Uint8Array(Buffer.from(stored.driverState, "base64")),
  };
}
