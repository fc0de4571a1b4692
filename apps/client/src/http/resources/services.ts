import { encode, ServiceRegistrationStruct, type ServiceRegistration } from "@outrider/nomad-structs";
import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import type { Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { pageOf } from "../list-page.ts";
import { serviceKey } from "../../server/index.ts";

/** `/v1/services`, `/v1/service/:name` and `/v1/service/:name/:id`. */
export function serviceResources(context: ApiContext): Resource[] {
  const { tables } = context.server.state;
  return [
    {
      path: "/v1/services",
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["services"], "", () => {
            const { namespace, prefix } = request.query;
            const rows = [...tables.services.values()].filter(
              (s) => (namespace === "*" || s.Namespace === namespace) && s.ServiceName.startsWith(prefix),
            );
            return { value: byNamespace(rows), index: tableIndex(context, "services") };
          }),
      },
    },
    {
      path: "/v1/service/:name",
      methods: {
        GET: (request) => {
          if (request.params.has("choose")) throw new HttpError(400, "choose is not supported by this agent");
          return answerQuery(context, request, ["services"], "", () => {
            const rows = tables.services.by("name", serviceKey(request.query.namespace, request.path["name"] ?? ""));
            const page = pageOf(
              rows,
              request.query,
              (s) => [0, s.ID],
              (s) => encode(ServiceRegistrationStruct, s),
            );
            return { value: page.items, index: tableIndex(context, "services"), headers: page.headers };
          });
        },
      },
    },
    {
      path: "/v1/service/:name/:id",
      methods: {
        DELETE: async (request) => {
          const { name = "", id = "" } = request.path;
          return {
            kind: "empty",
            writeIndex: await context.server.deleteService({ namespace: request.query.namespace, name, id }),
          };
        },
      },
    },
  ];
}

/** Names with the tags of all their instances. */
function byNamespace(rows: readonly ServiceRegistration[]): unknown[] {
  const namespaces = new Map<string, Map<string, Set<string>>>();
  for (const row of rows) {
    const names = namespaces.get(row.Namespace) ?? new Map<string, Set<string>>();
    namespaces.set(row.Namespace, names);
    const tags = names.get(row.ServiceName) ?? new Set<string>();
    names.set(row.ServiceName, tags);
    for (const tag of row.Tags ?? []) tags.add(tag);
  }
  return sorted(namespaces).map(([Namespace, names]) => ({
    Namespace,
    Services: sorted(names).map(([ServiceName, tags]) => ({ ServiceName, Tags: [...tags].sort() })),
  }));
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
