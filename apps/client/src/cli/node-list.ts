import type { ApiClient } from "./api-client.ts";
import { CommandError } from "./command.ts";
import { columns, orNone, shortId } from "./format.ts";
import type { FlagSpec, ParsedFlags } from "./go-flags.ts";
import type { AllocView, NodeListView } from "./views.ts";

/** The flags of a list of nodes. */
export const NODE_LIST_FLAGS: FlagSpec = {
  allocs: "bool",
  os: "bool",
  quiet: "bool",
  filter: "string",
  "per-page": "int",
  "page-token": "string",
};

/** The table of all nodes, or of those that the flags choose. */
export async function listNodes(client: ApiClient, flags: ParsedFlags): Promise<string> {
  if (flags.bool("quiet") && (flags.bool("verbose") || flags.bool("json")))
    throw new CommandError("-quiet cannot be used with -verbose or -json");
  const perPage = flags.int("per-page", 0);
  if (perPage < 0) throw new CommandError(`-per-page ${perPage}: a page holds no fewer than one node`);
  const { value: nodes, nextToken } = await client.get<NodeListView[]>("/v1/nodes", {
    os: flags.bool("os") || undefined,
    filter: flags.string("filter") || undefined,
    per_page: perPage || undefined,
    next_token: flags.string("page-token") || undefined,
  });
  if (flags.bool("json")) return JSON.stringify(nodes, null, 4);
  if (nodes.length === 0) return "No nodes";
  const more = nextToken === "" ? "" : `\n\nThere are more; the next page: -page-token ${nextToken}`;
  if (flags.bool("quiet")) return nodes.map((node) => shortId(node.ID, true)).join("\n");
  const verbose = flags.bool("verbose");
  const heading = [
    "ID",
    "Node Pool",
    "DC",
    "Name",
    "Class",
    ...(verbose ? ["Address", "Version"] : []),
    "Drain",
    "Eligibility",
    "Status",
    ...(flags.bool("allocs") ? ["Running Allocs"] : []),
  ];
  const rows: string[][] = [];
  for (const node of nodes) {
    const row = [
      shortId(node.ID, verbose),
      node.NodePool ?? "default",
      node.Datacenter ?? "",
      node.Name ?? "",
      orNone(node.NodeClass),
      ...(verbose ? [node.Address ?? "", node.Version ?? ""] : []),
      String(node.Drain ?? false),
      node.SchedulingEligibility ?? "",
      node.Status ?? "",
    ];
    if (flags.bool("allocs")) {
      const { value: allocs } = await client.get<AllocView[]>(`/v1/node/${node.ID}/allocations`);
      row.push(String(allocs.filter((a) => a.ClientStatus === "running").length));
    }
    rows.push(row);
  }
  return columns([heading, ...rows]) + more;
}
