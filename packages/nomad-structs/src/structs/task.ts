import { any, bool, duration, int, map, ptr, ref, refs, str, struct, type Infer } from "../dsl/field.ts";
import { ConsulStruct, SecretStruct, VaultStruct, WorkloadIdentityStruct } from "./identity.ts";
import { AffinityStruct, ConstraintStruct, strings } from "./placement.ts";
import { RestartPolicyStruct, ScalingPolicyStruct } from "./policies.ts";
import { LogConfigStruct, ResourcesStruct, TaskLifecycleConfigStruct } from "./resources.ts";
import { ServiceStruct } from "./service.ts";

const waitFields = { Min: ptr(duration()), Max: ptr(duration()) };
/** How long a template waits for its values to settle. @public */
export interface WaitConfig extends Infer<typeof waitFields> {}
/** The description of {@link WaitConfig}. @public */
export const WaitConfigStruct = struct<WaitConfig>("WaitConfig", waitFields);

const changeScriptFields = {
  Command: str(),
  Args: strings(),
  Timeout: duration(),
  FailOnError: bool(),
  RunOnFirstRender: bool(),
};
/** What runs when a template changed. @public */
export interface ChangeScript extends Infer<typeof changeScriptFields> {}
/** The description of {@link ChangeScript}. @public */
export const ChangeScriptStruct = struct<ChangeScript>("ChangeScript", changeScriptFields);

const templateFields = {
  SourcePath: str(),
  DestPath: str(),
  EmbeddedTmpl: str(),
  ChangeMode: str(),
  ChangeSignal: str(),
  ChangeScript: ref(ChangeScriptStruct),
  Once: bool(),
  Splay: duration(),
  Perms: str(),
  Uid: ptr(int()),
  Gid: ptr(int()),
  LeftDelim: str(),
  RightDelim: str(),
  Envvars: bool(),
  VaultGrace: duration(),
  Wait: ref(WaitConfigStruct),
  ErrMissingKey: bool(),
};
/** A file that is rendered into a task's folder. @public */
export interface Template extends Infer<typeof templateFields> {}
/** The description of {@link Template}. @public */
export const TemplateStruct = struct<Template>("Template", templateFields);

const artifactFields = {
  GetterSource: str(),
  GetterOptions: map(str()),
  GetterHeaders: map(str()),
  GetterMode: str(),
  GetterInsecure: bool(),
  RelativeDest: str(),
  Chown: bool(),
};
/** A file that is downloaded before a task starts. @public */
export interface TaskArtifact extends Infer<typeof artifactFields> {}
/** The description of {@link TaskArtifact}. @public */
export const TaskArtifactStruct = struct<TaskArtifact>("TaskArtifact", artifactFields);

const dispatchFields = { File: str() };
/** Where the payload of a dispatched job goes. @public */
export interface DispatchPayloadConfig extends Infer<typeof dispatchFields> {}
/** The description of {@link DispatchPayloadConfig}. @public */
export const DispatchPayloadConfigStruct = struct<DispatchPayloadConfig>("DispatchPayloadConfig", dispatchFields);

const mountFields = {
  Volume: str(),
  Destination: str(),
  ReadOnly: bool(),
  PropagationMode: str(),
  SELinuxLabel: str(),
};
/** Where a volume of the group appears in a task. @public */
export interface VolumeMount extends Infer<typeof mountFields> {}
/** The description of {@link VolumeMount}. @public */
export const VolumeMountStruct = struct<VolumeMount>("VolumeMount", mountFields);

const actionFields = { Name: str(), Command: str(), Args: strings() };
/** A named command that users may run in a task. @public */
export interface Action extends Infer<typeof actionFields> {}
/** The description of {@link Action}. @public */
export const ActionStruct = struct<Action>("Action", actionFields);

const cronFields = { Start: str(), End: str(), Timezone: str() };
/** The time window of a task: start of six cron fields, end of two. @public */
export interface TaskScheduleCron extends Infer<typeof cronFields> {}
/** The description of {@link TaskScheduleCron}. @public */
export const TaskScheduleCronStruct = struct<TaskScheduleCron>("TaskScheduleCron", cronFields);

const scheduleFields = { Cron: ref(TaskScheduleCronStruct) };
/** When a task may run. @public */
export interface TaskSchedule extends Infer<typeof scheduleFields> {}
/** The description of {@link TaskSchedule}. @public */
export const TaskScheduleStruct = struct<TaskSchedule>("TaskSchedule", scheduleFields);

const taskFields = {
  Name: str(),
  Driver: str(),
  User: str(),
  /** Options of the driver; nothing but the driver knows their shape. */
  Config: map(any()),
  Env: map(str()),
  Services: refs(ServiceStruct),
  Vault: ref(VaultStruct),
  Secrets: refs(SecretStruct),
  Consul: ref(ConsulStruct),
  Templates: refs(TemplateStruct),
  Constraints: refs(ConstraintStruct),
  Affinities: refs(AffinityStruct),
  Resources: ref(ResourcesStruct),
  RestartPolicy: ref(RestartPolicyStruct),
  DispatchPayload: ref(DispatchPayloadConfigStruct),
  Lifecycle: ref(TaskLifecycleConfigStruct),
  Meta: map(str()),
  KillTimeout: duration(),
  LogConfig: ref(LogConfigStruct),
  Artifacts: refs(TaskArtifactStruct),
  Leader: bool(),
  ShutdownDelay: duration(),
  VolumeMounts: refs(VolumeMountStruct),
  ScalingPolicies: refs(ScalingPolicyStruct),
  KillSignal: str(),
  Kind: str(),
  CSIPluginConfig: any(),
  Identity: ref(WorkloadIdentityStruct),
  Identities: refs(WorkloadIdentityStruct),
  Actions: refs(ActionStruct),
  Schedule: ref(TaskScheduleStruct),
};
/** A task of a group. @public */
export interface Task extends Infer<typeof taskFields> {}
/** The description of {@link Task}. @public */
export const TaskStruct = struct<Task>("Task", taskFields);
