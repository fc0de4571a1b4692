export type {
  Capabilities,
  DriverPlugin,
  ExecChunk,
  ExecInput,
  ExecOutput,
  ExecRequest,
  ExecResult,
  Fingerprint,
  NodeTopology,
  NomadDriverConfig,
  InspectedTask,
  PluginInfo,
  StartedTask,
  TaskConfig,
  TaskHandle,
  TaskStatus,
  TopologyCore,
} from "./contract/driver.ts";
export {
  isPluginShutdown,
  isTaskNotFound,
  NotImplementedError,
  PluginCallError,
  PluginProtocolError,
  PluginShutdownError,
  PluginStartError,
  PluginTimeoutError,
  RecoverableError,
  StatsNotImplementedError,
  TaskNotFoundError,
  type PluginStartKind,
} from "./contract/errors.ts";
export type { HclSpec } from "./contract/hclspec.ts";
export type {
  DriverAttribute,
  DriverDevice,
  DriverDnsConfig,
  DriverHealth,
  DriverMount,
  DriverNetwork,
  DriverPortMapping,
  DriverResources,
  DriverTaskEvent,
  DriverTaskState,
  ExitResult,
  FsIsolation,
  LinuxResources,
  MountConfigs,
  NetworkIsolationMode,
  NetworkIsolationSpec,
  ResourceUsage,
  TaskResourceUsage,
  TerminalSize,
} from "@outrider/nomad-structs";
export { ConfigError, type ConfigIssue } from "./config/config-error.ts";
export { decodeMsgpack } from "./config/decode-msgpack.ts";
export { defineDriver, type DefineDriverOptions } from "./define/define-driver.ts";
export type { BlockSchema, Decoded, DriverDefinition, RecoveredTask, RunningTask } from "./define/driver-definition.ts";
export { Attribute, Block, schema, type ConfigOf, type ConfigOfShape, type SchemaNode } from "./define/schema.ts";
export {
  createLazyHandle,
  DEFAULT_HANDLE_WAIT_MS,
  type LazyHandle,
  type LazyHandleOptions,
  type TaskDriverHandle,
} from "./lazy/lazy-handle.ts";
