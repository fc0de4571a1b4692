import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import { change, writeJson, type Resource } from "../api-types.ts";
import { pageOf } from "../list-page.ts";
import { checkUuid } from "../check-uuid.ts";
import { showAlloc, showAllocStub } from "./shapes.ts";

/** `/v1/allocations` and `/v1/allocation/:id`. */
export function allocationResources(context: ApiContext): Resource[] {
  const { tables } = context.server.state;
  return [
    {
      path: "/v1/allocations",
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["allocs"], "", () => {
            const { namespace, prefix } = request.query;
            const shown = {
              resources: request.params.flag("resources"),
              taskStates: request.params.flag("task_states", true),
            };
            const rows = [...tables.allocs.values()].filter(
              (alloc) => (namespace === "*" || alloc.Namespace === namespace) && alloc.ID.startsWith(prefix),
            );
            const page = pageOf(
              rows,
              request.query,
              (alloc) => [alloc.CreateIndex, alloc.ID],
              (alloc) => showAllocStub(alloc, shown),
            );
            return { value: page.items, index: tableIndex(context, "allocs"), headers: page.headers };
          }),
      },
    },
    {
      path: "/v1/allocation/:id",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "alloc");
          return answerQuery(context, request, ["allocs"], "alloc not found", () => {
            const alloc = tables.allocs.get(id);
            return {
              value: alloc === undefined ? undefined : showAlloc(alloc),
              index: alloc?.ModifyIndex ?? tableIndex(context, "allocs"),
            };
          });
        },
      },
    },
    {
      path: "/v1/allocation/:id/stop",
      methods: change(async (request) => {
        const id = checkUuid(request.path["id"], "alloc");
        const reply = await context.server.stopAlloc(id, {
          noShutdownDelay: request.params.flag("no_shutdown_delay"),
          reschedule: request.params.flag("reschedule"),
        });
        return writeJson({ EvalID: reply.evalId, Index: reply.index }, reply.index);
      }),
    },
  ];
}
