/** How long a host waits for the answers of a plugin. */

/** Limits in milliseconds; calls that wait for a task have none but the caller's signal. @public */
export interface CallTimeouts {
  /** Connecting to the address of the handshake line. */
  readonly connectMs: number;
  /** PluginInfo, the schemas, Capabilities, SetConfig, Init, InspectTask, SignalTask. */
  readonly shortMs: number;
  /** RecoverTask, DestroyTask, CreateNetwork, DestroyNetwork. */
  readonly longMs: number;
  /** Added to the time-out that StopTask and ExecTask carry themselves. */
  readonly graceMs: number;
  /** Driver.Shutdown. */
  readonly shutdownMs: number;
  /** GRPCController.Shutdown, before the kill. */
  readonly controllerMs: number;
  /** From an answered shutdown to SIGKILL. */
  readonly exitMs: number;
}

/** What {@link CallTimeouts} are unless told otherwise. @public */
export const DEFAULT_CALL_TIMEOUTS: CallTimeouts = {
  connectMs: 5_000,
  shortMs: 30_000,
  longMs: 120_000,
  graceMs: 60_000,
  shutdownMs: 2_000,
  controllerMs: 1_000,
  exitMs: 2_000,
};

/** Nomad's limit from spawn to handshake line. @public */
export const DEFAULT_START_TIMEOUT_MS = 60_000;
