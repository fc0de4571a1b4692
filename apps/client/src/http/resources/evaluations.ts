import type { Evaluation, EvaluationStub } from "@outrider/nomad-structs";
import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import type { Resource } from "../api-types.ts";
import { checkUuid } from "../check-uuid.ts";
import { pageOf } from "../list-page.ts";
import { showAllocStub, showEval } from "./shapes.ts";

/** `/v1/evaluations` and `/v1/evaluation/:id`. */
export function evaluationResources(context: ApiContext): Resource[] {
  const { tables } = context.server.state;
  return [
    {
      path: "/v1/evaluations",
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["evals"], "", () => {
            const { namespace, prefix } = request.query;
            const [job, status] = [request.params.text("job"), request.params.text("status")];
            const rows = [...tables.evals.values()].filter(
              (e) =>
                (namespace === "*" || e.Namespace === namespace) &&
                e.ID.startsWith(prefix) &&
                (job === "" || e.JobID === job) &&
                (status === "" || e.Status === status),
            );
            const page = pageOf(rows, request.query, (e) => [e.CreateIndex, e.ID], showEval);
            return { value: page.items, index: tableIndex(context, "evals"), headers: page.headers };
          }),
      },
    },
    {
      path: "/v1/evaluation/:id",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "eval");
          const related = request.params.flag("related");
          return answerQuery(context, request, ["evals"], "eval not found", () => {
            const evaluation = tables.evals.get(id);
            const value =
              evaluation === undefined
                ? undefined
                : showEval(related ? { ...evaluation, RelatedEvals: relatives(context, evaluation) } : evaluation);
            return { value, index: evaluation?.ModifyIndex ?? tableIndex(context, "evals") };
          });
        },
      },
    },
    {
      path: "/v1/evaluation/:id/allocations",
      methods: {
        GET: (request) => {
          const id = checkUuid(request.path["id"], "eval");
          return answerQuery(context, request, ["allocs"], "", () => {
            const rows = tables.allocs.by("eval", id).sort((a, b) => (a.ID < b.ID ? -1 : 1));
            return { value: rows.map((alloc) => showAllocStub(alloc)), index: tableIndex(context, "allocs") };
          });
        },
      },
    },
  ];
}

/** Evaluations that led to this one or follow from it. */
function relatives(context: ApiContext, start: Evaluation): EvaluationStub[] | null {
  const { evals } = context.server.state.tables;
  const seen = new Map<string, Evaluation>();
  const queue = [start.NextEval, start.PreviousEval, start.BlockedEval];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const row = id === "" || id === start.ID || seen.has(id) ? undefined : evals.get(id);
    if (row === undefined) continue;
    seen.set(id, row);
    queue.push(row.NextEval, row.PreviousEval, row.BlockedEval);
  }
  return seen.size === 0 ? null : [...seen.values()].map(stub);
}

function stub(e: Evaluation): EvaluationStub {
  const {
    ID,
    Namespace,
    Priority,
    Type,
    TriggeredBy,
    JobID,
    NodeID,
    DeploymentID,
    Status,
    StatusDescription,
    WaitUntil,
    NextEval,
    PreviousEval,
    BlockedEval,
    CreateIndex,
    ModifyIndex,
    CreateTime,
    ModifyTime,
  } = e;
  return {
    ID,
    Namespace,
    Priority,
    Type,
    TriggeredBy,
    JobID,
    NodeID,
    DeploymentID,
    Status,
    StatusDescription,
    WaitUntil,
    NextEval,
    PreviousEval,
    BlockedEval,
    CreateIndex,
    ModifyIndex,
    CreateTime,
    ModifyTime,
  };
}
