import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import { change, writeJson, type Resource } from "../api-types.ts";
import { checkUuid } from "../check-uuid.ts";
import { asObject, parseJsonBody, textField } from "../json-body.ts";
import { pageOf } from "../list-page.ts";
import { showAlloc, showNode, showNodeStub } from "./shapes.ts";

/** `/v1/nodes` and `/v1/node/:id`. */
export function nodeResources(context: ApiContext): Resource[] {
  const { tables } = context.server.state;
  return [
    {
      path: "/v1/nodes",
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["nodes"], "", () => {
            const shown = { resources: request.params.flag("resources"), os: request.params.flag("os") };
            const rows = [...tables.nodes.values()].filter((node) => node.ID.startsWith(request.query.prefix));
            const page = pageOf(
              rows,
              request.query,
              (node) => [0, node.ID],
              (node) => showNodeStub(node, shown),
            );
            return { value: page.items, index: tableIndex(context, "nodes"), headers: page.headers };
          }),
      },
    },
    {
      path: "/v1/node/:id",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "node");
          return answerQuery(context, request, ["nodes"], "node not found", () => {
            const node = tables.nodes.get(id);
            return {
              value: node === undefined ? undefined : showNode(node),
              index: node?.ModifyIndex ?? tableIndex(context, "nodes"),
            };
          });
        },
      },
    },
    {
      path: "/v1/node/:id/allocations",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "node");
          return answerQuery(context, request, ["allocs"], "", () => ({
            value: tables.allocs
              .by("node", id)
              .sort((a, b) => (a.ID < b.ID ? -1 : 1))
              .map(showAlloc),
            index: tableIndex(context, "allocs"),
          }));
        },
      },
    },
    {
      path: "/v1/node/:id/eligibility",
      methods: change(async (request) => {
        const body = asObject(parseJsonBody(request.body));
        const index = await context.server.setEligibility(
          checkUuid(request.path["id"], "node"),
          textField(body, "Eligibility"),
        );
        return writeJson({ NodeModifyIndex: index, EvalIDs: null, EvalCreateIndex: 0, Index: index }, index);
      }),
    },
  ];
}
