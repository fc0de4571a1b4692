/**
 * What the commands read of API answers, and no more. Every field may be absent or null: the agent asked may be a real
 * Nomad of another version, and a command must never crash on what it does not get.
 */
type Maybe<T> = T | null | undefined;

export interface EvaluationView {
  ID: string;
  Priority?: Maybe<number>;
  TriggeredBy?: Maybe<string>;
  JobID?: Maybe<string>;
  NodeID?: Maybe<string>;
  DeploymentID?: Maybe<string>;
  Status?: Maybe<string>;
  StatusDescription?: Maybe<string>;
  NextEval?: Maybe<string>;
  BlockedEval?: Maybe<string>;
  CreateIndex?: Maybe<number>;
  WaitUntil?: Maybe<string>;
  FailedTGAllocs?: Maybe<Record<string, PlacementFailureView>>;
}

export interface PlacementFailureView {
  NodesEvaluated?: Maybe<number>;
  NodesFiltered?: Maybe<number>;
  NodesInPool?: Maybe<number>;
  NodesExhausted?: Maybe<number>;
  AllocationTime?: Maybe<number>;
  NodePool?: Maybe<string>;
  NodesAvailable?: Maybe<Record<string, number>>;
  ClassFiltered?: Maybe<Record<string, number>>;
  ConstraintFiltered?: Maybe<Record<string, number>>;
  ClassExhausted?: Maybe<Record<string, number>>;
  DimensionExhausted?: Maybe<Record<string, number>>;
  QuotaExhausted?: Maybe<string[]>;
  CoalescedFailures?: Maybe<number>;
  ScoreMetaData?: Maybe<{ NodeID: string; Scores?: Maybe<Record<string, number>>; NormScore?: Maybe<number> }[]>;
}

export interface DeploymentView {
  ID: string;
  JobID: string;
  JobVersion?: Maybe<number>;
  Status?: Maybe<string>;
  StatusDescription?: Maybe<string>;
  TaskGroups?: Maybe<
    Record<
      string,
      {
        AutoRevert?: Maybe<boolean>;
        Promoted?: Maybe<boolean>;
        DesiredCanaries?: Maybe<number>;
        DesiredTotal?: Maybe<number>;
        PlacedAllocs?: Maybe<number>;
        HealthyAllocs?: Maybe<number>;
        UnhealthyAllocs?: Maybe<number>;
        RequireProgressBy?: Maybe<string>;
      }
    >
  >;
}

export interface TaskStateView {
  State?: Maybe<string>;
  Failed?: Maybe<boolean>;
  Restarts?: Maybe<number>;
  LastRestart?: Maybe<string>;
  StartedAt?: Maybe<string>;
  FinishedAt?: Maybe<string>;
  Paused?: Maybe<string>;
  Events?: Maybe<
    { Type?: Maybe<string>; Time?: Maybe<number>; DisplayMessage?: Maybe<string>; Message?: Maybe<string> }[]
  >;
}

export interface AllocView {
  ID: string;
  EvalID?: Maybe<string>;
  Name?: Maybe<string>;
  Namespace?: Maybe<string>;
  NodeID?: Maybe<string>;
  NodeName?: Maybe<string>;
  JobID?: Maybe<string>;
  JobVersion?: Maybe<number>;
  TaskGroup?: Maybe<string>;
  ClientStatus?: Maybe<string>;
  ClientDescription?: Maybe<string>;
  DesiredStatus?: Maybe<string>;
  DesiredDescription?: Maybe<string>;
  DeploymentID?: Maybe<string>;
  DeploymentStatus?: Maybe<{ Healthy?: Maybe<boolean>; Canary?: Maybe<boolean> }>;
  NextAllocation?: Maybe<string>;
  FollowupEvalID?: Maybe<string>;
  TaskStates?: Maybe<Record<string, TaskStateView>>;
  CreateTime?: Maybe<number>;
  ModifyTime?: Maybe<number>;
  CreateIndex?: Maybe<number>;
  Metrics?: Maybe<PlacementFailureView>;
  Job?: Maybe<{ Version?: Maybe<number>; TaskGroups?: Maybe<GroupView[]> }>;
  AllocatedResources?: Maybe<{
    Tasks?: Maybe<
      Record<
        string,
        {
          Cpu?: Maybe<{ CpuShares?: Maybe<number> }>;
          Memory?: Maybe<{ MemoryMB?: Maybe<number>; MemoryMaxMB?: Maybe<number> }>;
        }
      >
    >;
    Shared?: Maybe<{
      DiskMB?: Maybe<number>;
      Ports?: Maybe<PortView[]>;
      Networks?: Maybe<{ DynamicPorts?: Maybe<{ Label: string }[]> }[]>;
    }>;
  }>;
}

export interface PortView {
  Label: string;
  Value: number;
  To?: Maybe<number>;
  HostIP?: Maybe<string>;
}

export interface GroupView {
  Name?: Maybe<string>;
  Tasks?: Maybe<{ Name?: Maybe<string>; Lifecycle?: Maybe<{ Hook?: Maybe<string>; Sidecar?: Maybe<boolean> }> }[]>;
}

export interface JobListView {
  ID: string;
  Namespace?: Maybe<string>;
  Type?: Maybe<string>;
  Priority?: Maybe<number>;
  Status?: Maybe<string>;
  Stop?: Maybe<boolean>;
  Periodic?: Maybe<boolean>;
  ParameterizedJob?: Maybe<boolean>;
  SubmitTime?: Maybe<number>;
}

export interface JobView {
  ID: string;
  Name?: Maybe<string>;
  Namespace?: Maybe<string>;
  Type?: Maybe<string>;
  Priority?: Maybe<number>;
  Datacenters?: Maybe<string[]>;
  NodePool?: Maybe<string>;
  Status?: Maybe<string>;
  Stop?: Maybe<boolean>;
  Periodic?: Maybe<{ Spec?: Maybe<string>; Specs?: Maybe<string[]>; TimeZone?: Maybe<string> }>;
  ParameterizedJob?: Maybe<{ Payload?: Maybe<string>; MetaRequired?: Maybe<string[]>; MetaOptional?: Maybe<string[]> }>;
  SubmitTime?: Maybe<number>;
  JobModifyIndex?: Maybe<number>;
}

export interface JobSummaryView {
  Summary?: Maybe<
    Record<
      string,
      {
        Queued?: number;
        Starting?: number;
        Running?: number;
        Failed?: number;
        Complete?: number;
        Lost?: number;
        Unknown?: number;
      }
    >
  >;
  Children?: Maybe<{ Pending?: number; Running?: number; Dead?: number }>;
}

export interface UsageView {
  ResourceUsage?: Maybe<{
    MemoryStats?: Maybe<{
      RSS?: Maybe<number>;
      Swap?: Maybe<number>;
      Usage?: Maybe<number>;
      Measured?: Maybe<string[]>;
    }>;
    CpuStats?: Maybe<{
      TotalTicks?: Maybe<number>;
      Percent?: Maybe<number>;
      SystemMode?: Maybe<number>;
      UserMode?: Maybe<number>;
    }>;
  }>;
  Tasks?: Maybe<Record<string, UsageView>>;
}

export interface NodeListView {
  ID: string;
  Name?: Maybe<string>;
  Datacenter?: Maybe<string>;
  NodeClass?: Maybe<string>;
  NodePool?: Maybe<string>;
  Drain?: Maybe<boolean>;
  SchedulingEligibility?: Maybe<string>;
  Status?: Maybe<string>;
  Address?: Maybe<string>;
  Version?: Maybe<string>;
  Attributes?: Maybe<Record<string, string>>;
}

export interface NodeView extends NodeListView {
  HTTPAddr?: Maybe<string>;
  TLSEnabled?: Maybe<boolean>;
  Drivers?: Maybe<
    Record<
      string,
      {
        Detected?: Maybe<boolean>;
        Healthy?: Maybe<boolean>;
        HealthDescription?: Maybe<string>;
        UpdateTime?: Maybe<string>;
      }
    >
  >;
  Events?: Maybe<
    {
      Message?: Maybe<string>;
      Subsystem?: Maybe<string>;
      Timestamp?: Maybe<string>;
      Details?: Maybe<Record<string, string>>;
    }[]
  >;
  Attributes?: Maybe<Record<string, string>>;
  Meta?: Maybe<Record<string, string>>;
  HostVolumes?: Maybe<Record<string, unknown>>;
  HostNetworks?: Maybe<Record<string, unknown>>;
  NodeResources?: Maybe<{
    Cpu?: Maybe<{ CpuShares?: Maybe<number> }>;
    Memory?: Maybe<{ MemoryMB?: Maybe<number> }>;
    Disk?: Maybe<{ DiskMB?: Maybe<number> }>;
  }>;
  ReservedResources?: Maybe<{
    Cpu?: Maybe<{ CpuShares?: Maybe<number> }>;
    Memory?: Maybe<{ MemoryMB?: Maybe<number> }>;
    Disk?: Maybe<{ DiskMB?: Maybe<number> }>;
  }>;
}

export interface HostStatsView {
  Uptime?: Maybe<number>;
  CPUTicksConsumed?: Maybe<number>;
  Memory?: Maybe<{ Total?: Maybe<number>; Available?: Maybe<number>; Used?: Maybe<number>; Free?: Maybe<number> }>;
  CPU?: Maybe<{ CPU?: Maybe<string>; User?: Maybe<number>; System?: Maybe<number>; Idle?: Maybe<number> }[]>;
  DiskStats?: Maybe<
    {
      Device?: Maybe<string>;
      Mountpoint?: Maybe<string>;
      Size?: Maybe<number>;
      Used?: Maybe<number>;
      Available?: Maybe<number>;
      UsedPercent?: Maybe<number>;
      InodesUsedPercent?: Maybe<number>;
    }[]
  >;
}
