import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import { change, writeJson, type Resource } from "../api-types.ts";
import { checkUuid } from "../check-uuid.ts";
import { pageOf } from "../list-page.ts";
import { showAllocStub, showDeployment } from "./shapes.ts";

/** `/v1/deployments` and `/v1/deployment/:id`. */
export function deploymentResources(context: ApiContext): Resource[] {
  const { tables } = context.server.state;
  return [
    {
      path: "/v1/deployments",
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["deployments"], "", () => {
            const { namespace, prefix } = request.query;
            const rows = [...tables.deployments.values()].filter(
              (d) => (namespace === "*" || d.Namespace === namespace) && d.ID.startsWith(prefix),
            );
            const page = pageOf(rows, request.query, (d) => [d.CreateIndex, d.ID], showDeployment);
            return { value: page.items, index: tableIndex(context, "deployments"), headers: page.headers };
          }),
      },
    },
    {
      path: "/v1/deployment/:id",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "deployment");
          return answerQuery(context, request, ["deployments"], "deployment not found", () => {
            const deployment = tables.deployments.get(id);
            return {
              value: deployment === undefined ? undefined : showDeployment(deployment),
              index: deployment?.ModifyIndex ?? tableIndex(context, "deployments"),
            };
          });
        },
      },
    },
    {
      path: "/v1/deployment/allocations/:id",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "deployment");
          return answerQuery(context, request, ["allocs"], "", () => ({
            value: tables.allocs.by("deployment", id).map((alloc) => showAllocStub(alloc)),
            index: tableIndex(context, "allocs"),
          }));
        },
      },
    },
    {
      path: "/v1/deployment/fail/:id",
      methods: change(async (request) => {
        const reply = await context.server.failDeployment(checkUuid(request.path["id"], "deployment"));
        return writeJson(
          {
            EvalID: reply.evalId,
            EvalCreateIndex: reply.index,
            DeploymentModifyIndex: reply.index,
            RevertedJobVersion: null,
            Index: reply.index,
          },
          reply.index,
        );
      }),
    },
  ];
}
