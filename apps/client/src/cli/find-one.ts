import type { ApiClient } from "./api-client.ts";
import { CommandError } from "./command.ts";
import type { AllocView, JobListView, NodeListView } from "./views.ts";

/** The job a prefix names; an exact id wins over longer ones. */
export async function findJob(client: ApiClient, prefix: string): Promise<JobListView> {
  const id = prefix.trim();
  const { value: jobs } = await client.get<JobListView[]>("/v1/jobs", { per_page: 20, prefix: id });
  const exact = jobs.filter((job) => job.ID === id);
  const found = exact.length > 0 ? exact : jobs;
  if (found.length === 0) throw new CommandError(`No job(s) with prefix or ID ${JSON.stringify(id)} found`);
  if (found.length > 1)
    throw new CommandError(
      `Prefix ${JSON.stringify(id)} matches several jobs:\n${found.map((job) => `  ${job.ID} (${job.Namespace ?? "default"})`).join("\n")}`,
    );
  return found[0] as JobListView;
}

/** The allocation an id or its prefix names, whole. */
export async function findAlloc(client: ApiClient, prefix: string): Promise<AllocView> {
  const id = sanitized(prefix, "Alloc");
  const { value } = await client.get<AllocView[]>("/v1/allocations", { prefix: id });
  const stubs = value.filter((stub) => stub.ID.startsWith(prefix));
  if (stubs.length === 0) throw new CommandError(`No allocation(s) with prefix or id ${JSON.stringify(prefix)} found`);
  if (stubs.length > 1)
    throw new CommandError(
      `Prefix ${JSON.stringify(prefix)} matches several allocations:\n${stubs.map((stub) => `  ${stub.ID}  ${stub.Name ?? ""}  ${stub.ClientStatus ?? ""}`).join("\n")}`,
    );
  const stub = stubs[0] as AllocView;
  return (await client.get<AllocView>(`/v1/allocation/${stub.ID}`, { namespace: stub.Namespace ?? "default" })).value;
}

/** The newest allocation of a job, or of one of its groups; running ones first. */
export async function allocOfJob(client: ApiClient, prefix: string, group = ""): Promise<AllocView> {
  const job = await findJob(client, prefix);
  const { value: stubs } = await client.get<AllocView[]>(`/v1/job/${encodeURIComponent(job.ID)}/allocations`, {
    all: false,
    namespace: job.Namespace ?? "default",
  });
  const order = (alloc: AllocView): number => (alloc.ClientStatus === "running" ? 1 : 0);
  const newest = stubs
    .filter((stub) => group === "" || stub.TaskGroup === group)
    .sort((a, b) => order(b) - order(a) || (b.CreateTime ?? 0) - (a.CreateTime ?? 0))[0];
  if (newest === undefined) {
    const of = group === "" ? "" : ` of a group ${JSON.stringify(group)}`;
    throw new CommandError(`Job ${JSON.stringify(job.ID)} has no allocations${of}`);
  }
  return findAlloc(client, newest.ID);
}

/** The node an id or its prefix names. */
export async function findNode(client: ApiClient, prefix: string): Promise<NodeListView> {
  const { value } = await client.get<NodeListView[]>("/v1/nodes", { prefix: sanitized(prefix, "Node") });
  const nodes = value.filter((node) => node.ID.startsWith(prefix));
  if (nodes.length === 0) throw new CommandError(`No node(s) with prefix ${JSON.stringify(prefix)} found`);
  if (nodes.length > 1)
    throw new CommandError(
      `Prefix ${JSON.stringify(prefix)} matches several nodes:\n${nodes.map((node) => `  ${node.ID}  ${node.Name ?? ""}`).join("\n")}`,
    );
  return nodes[0] as NodeListView;
}

/** The tasks of an allocation's group, in the order of the job. */
export function tasksOf(alloc: AllocView): string[] {
  const group = (alloc.Job?.TaskGroups ?? []).find((g) => g.Name === alloc.TaskGroup);
  return (group?.Tasks ?? []).map((task) => task.Name ?? "");
}

/** Refuses a task that the allocation does not have, naming those it has. */
export function checkTask(alloc: AllocView, task: string): void {
  const known = tasksOf(alloc);
  if (!known.includes(task)) throw new CommandError(`Could not find task named: ${task}, found:\n${known.join("\n")}`);
}

/** The task to use when none was named: the only one there is. */
export function onlyTask(alloc: AllocView): string {
  const known = tasksOf(alloc);
  if (known.length === 1) return known[0] as string;
  throw new CommandError(
    `Allocation ${JSON.stringify(alloc.ID.slice(0, 8))} has the following tasks:\n${known.map((name) => `  * ${name}`).join("\n")}\n\nPlease specify the task.`,
  );
}

function sanitized(prefix: string, what: string): string {
  if (prefix.length < 2) throw new CommandError(`${what} ID must contain at least two characters.`);
  // An id has dashes at fixed places; an odd number of hexadecimal digits cannot be looked up by real servers.
  const digits = prefix.replaceAll("-", "").length;
  return digits % 2 === 1 && digits < 32 ? prefix.slice(0, -1) : prefix;
}
