import type { Allocation, Evaluation, Job, JobListStub, JobSummary, Node } from "@outrider/nomad-structs";
import {
  AllocationStruct,
  AllocListStubStruct,
  DeploymentStruct,
  encode,
  EvaluationStruct,
  JobListStubStruct,
  JobStruct,
  JobSummaryStruct,
  make,
  NodeListStubStruct,
  NodeStruct,
  type AllocListStub,
  type Deployment,
  type NodeListStub,
} from "@outrider/nomad-structs";

/** A job as `/v1/job/:id` shows it. */
export function showJob(job: Job): unknown {
  return encode(JobStruct, job);
}

/** A job in a list. */
export function showJobStub(job: Job, summary: JobSummary | undefined, withMeta: boolean): unknown {
  const stub: JobListStub = {
    ID: job.ID,
    ParentID: job.ParentID,
    Name: job.Name,
    Namespace: job.Namespace,
    Datacenters: job.Datacenters,
    NodePool: job.NodePool,
    Multiregion: job.Multiregion,
    Type: job.Type,
    Priority: job.Priority,
    Periodic: job.Periodic !== null,
    ParameterizedJob: job.ParameterizedJob !== null,
    Stop: job.Stop,
    Status: job.Status,
    StatusDescription: job.StatusDescription,
    // Clients fall over a job without one.
    JobSummary: summary ?? make(JobSummaryStruct, { JobID: job.ID, Namespace: job.Namespace }),
    CreateIndex: job.CreateIndex,
    ModifyIndex: job.ModifyIndex,
    JobModifyIndex: job.JobModifyIndex,
    SubmitTime: job.SubmitTime,
    Meta: withMeta ? job.Meta : null,
  };
  return encode(JobListStubStruct, stub);
}

/** The counts of a job. */
export function showSummary(summary: JobSummary): unknown {
  return encode(JobSummaryStruct, summary);
}

/** An allocation, whole. */
export function showAlloc(alloc: Allocation): unknown {
  return encode(AllocationStruct, { ...alloc, SignedIdentities: null });
}

interface StubParts {
  readonly resources: boolean;
  readonly taskStates: boolean;
}

const USUAL_PARTS: StubParts = { resources: false, taskStates: true };

/** Rows are never changed in place, and whoever waits for a job asks for all its allocations again and again. */
const STUBS = new WeakMap<Allocation, unknown>();

/** An allocation in a list. */
export function showAllocStub(alloc: Allocation, o: StubParts = USUAL_PARTS): unknown {
  if (o.resources || !o.taskStates) return makeAllocStub(alloc, o);
  let stub = STUBS.get(alloc);
  if (stub === undefined) {
    stub = makeAllocStub(alloc, o);
    STUBS.set(alloc, stub);
  }
  return stub;
}

function makeAllocStub(alloc: Allocation, o: StubParts): unknown {
  const stub: AllocListStub = {
    ID: alloc.ID,
    EvalID: alloc.EvalID,
    Name: alloc.Name,
    Namespace: alloc.Namespace,
    NodeID: alloc.NodeID,
    NodeName: alloc.NodeName,
    JobID: alloc.JobID,
    JobType: alloc.Job?.Type ?? "",
    JobVersion: alloc.Job?.Version ?? 0,
    TaskGroup: alloc.TaskGroup,
    AllocatedResources: o.resources ? alloc.AllocatedResources : null,
    DesiredStatus: alloc.DesiredStatus,
    DesiredDescription: alloc.DesiredDescription,
    ClientStatus: alloc.ClientStatus,
    ClientDescription: alloc.ClientDescription,
    DesiredTransition: alloc.DesiredTransition,
    TaskStates: o.taskStates ? alloc.TaskStates : null,
    DeploymentStatus: alloc.DeploymentStatus,
    FollowupEvalID: alloc.FollowupEvalID,
    NextAllocation: alloc.NextAllocation,
    RescheduleTracker: alloc.RescheduleTracker,
    PreemptedAllocations: alloc.PreemptedAllocations,
    PreemptedByAllocation: alloc.PreemptedByAllocation,
    CreateIndex: alloc.CreateIndex,
    ModifyIndex: alloc.ModifyIndex,
    CreateTime: alloc.CreateTime,
    ModifyTime: alloc.ModifyTime,
  };
  return encode(AllocListStubStruct, stub);
}

/** An evaluation, with its relatives when asked for. */
export function showEval(evaluation: Evaluation): unknown {
  return encode(EvaluationStruct, evaluation);
}

/** A deployment. */
export function showDeployment(deployment: Deployment): unknown {
  return encode(DeploymentStruct, deployment);
}

/** A node, without its secret. */
export function showNode(node: Node): unknown {
  return encode(NodeStruct, { ...node, SecretID: "", Drain: node.DrainStrategy !== null });
}

/** A node in a list. */
export function showNodeStub(node: Node, o: { readonly resources: boolean; readonly os: boolean }): unknown {
  const stub: NodeListStub = {
    Address: node.Attributes?.["unique.network.ip-address"] ?? "127.0.0.1",
    ID: node.ID,
    Attributes: o.os ? { "os.name": node.Attributes?.["os.name"] ?? "" } : null,
    Datacenter: node.Datacenter,
    Name: node.Name,
    NodePool: node.NodePool,
    NodeClass: node.NodeClass,
    Version: node.Attributes?.["nomad.version"] ?? "",
    Drain: node.DrainStrategy !== null,
    SchedulingEligibility: node.SchedulingEligibility,
    Status: node.Status,
    StatusDescription: node.StatusDescription,
    Drivers: node.Drivers,
    HostVolumes: node.HostVolumes,
    NodeResources: o.resources ? node.NodeResources : null,
    ReservedResources: o.resources ? node.ReservedResources : null,
    LastDrain: node.LastDrain,
    CreateIndex: node.CreateIndex,
    ModifyIndex: node.ModifyIndex,
  };
  return encode(NodeListStubStruct, stub);
}
