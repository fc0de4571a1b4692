import type { ApiContext } from "../api-context.ts";
import { tableIndex } from "../api-context.ts";
import { change, type Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { asObject, parseJsonBody, textField } from "../json-body.ts";

/** Matches of one kind that are given. */
const MAX_MATCHES = 20;

/** `/v1/search`: ids that begin with a text. */
export function searchResource(context: ApiContext): Resource {
  return {
    path: "/v1/search",
    methods: change((request) => {
      const body = asObject(parseJsonBody(request.body));
      const prefix = textField(body, "Prefix");
      const wanted = textField(body, "Context") === "" ? "all" : textField(body, "Context");
      const { tables } = context.server.state;
      const kinds: Record<string, () => Iterable<string>> = {
        jobs: () => [...tables.jobs.values()].map((job) => job.ID),
        evals: () => [...tables.evals.entries()].map(([id]) => id),
        allocs: () => [...tables.allocs.entries()].map(([id]) => id),
        deployment: () => [...tables.deployments.entries()].map(([id]) => id),
        nodes: () => [...tables.nodes.entries()].map(([id]) => id),
      };
      if (wanted !== "all" && kinds[wanted] === undefined)
        throw new HttpError(400, `context ${JSON.stringify(wanted)} cannot be searched here`);
      const matches: Record<string, string[] | null> = {};
      const truncations: Record<string, boolean> = {};
      for (const [kind, ids] of Object.entries(kinds)) {
        if (wanted !== "all" && wanted !== kind) continue;
        const found = [...ids()].filter((id) => id.startsWith(prefix)).sort();
        matches[kind] = found.length === 0 ? null : found.slice(0, MAX_MATCHES);
        truncations[kind] = found.length > MAX_MATCHES;
      }
      const index = tableIndex(context, "jobs", "evals", "allocs", "deployments", "nodes");
      return {
        kind: "json",
        value: {
          Matches: matches,
          Truncations: truncations,
          Index: index,
          LastContact: 0,
          KnownLeader: true,
          NextToken: "",
        },
        index,
      };
    }),
  };
}
