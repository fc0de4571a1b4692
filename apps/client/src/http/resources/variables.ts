import type { ApiContext } from "../api-context.ts";
import { answerQuery, tableIndex } from "../api-context.ts";
import { change, writeJson, type ApiRequest, type ApiResult, type Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { asObject, parseJsonBody, textField } from "../json-body.ts";
import { pageOf } from "../list-page.ts";
import { MAX_VARIABLE_BYTES, variableKey, type Variable, type VariableChange } from "../../server/index.ts";

/** A variable of the largest size, every byte of it escaped, and some room. */
const BODY_LIMIT = 6 * MAX_VARIABLE_BYTES + 65_536;

/** `/v1/vars` and `/v1/var/*`. */
export function variableResources(context: ApiContext): Resource[] {
  const { tables } = context.server.state;
  return [
    {
      path: "/v1/vars",
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["variables"], "", () => {
            const { namespace, prefix } = request.query;
            const rows = [...tables.variables.values()].filter(
              (v) => (namespace === "*" || v.Namespace === namespace) && v.Path.startsWith(prefix),
            );
            const page = pageOf(
              rows,
              request.query,
              (v) => [0, `${v.Namespace}.${v.Path}`],
              ({ Items: _items, ...metadata }) => metadata,
            );
            return { value: page.items, index: tableIndex(context, "variables"), headers: page.headers };
          }),
      },
    },
    {
      path: "/v1/var/*",
      bodyLimit: BODY_LIMIT,
      methods: {
        GET: (request) =>
          answerQuery(context, request, ["variables"], "variable not found", () => {
            const found: Variable | undefined = tables.variables.get(
              variableKey(request.query.namespace, pathOf(request)),
            );
            return { value: found, index: found?.ModifyIndex ?? tableIndex(context, "variables") };
          }),
        ...change(async (request) => {
          refuseLocks(request);
          const body = asObject(parseJsonBody(request.body));
          const path = pathOf(request);
          const named = textField(body, "Path");
          if (named !== "" && named !== path)
            throw new HttpError(
              400,
              `Path ${JSON.stringify(named)} of the body is not the path ${JSON.stringify(path)} of the request`,
            );
          if (body["Lock"] !== undefined && body["Lock"] !== null)
            throw new HttpError(400, "locks of variables are not supported by this agent");
          const namespace = namespaceOf(request, textField(body, "Namespace"));
          return answered(
            await context.server.putVariable({ namespace, path, items: itemsOf(body["Items"]), cas: casOf(request) }),
            { namespace, path },
          );
        }),
        DELETE: async (request) => {
          refuseLocks(request);
          const at = { namespace: request.query.namespace, path: pathOf(request) };
          return answered(await context.server.deleteVariable({ ...at, cas: casOf(request) }), at);
        },
      },
    },
  ];
}

function pathOf(request: ApiRequest): string {
  const path = request.path["*"] ?? "";
  if (path === "") throw new HttpError(400, "missing variable path");
  return path;
}

function namespaceOf(request: ApiRequest, named: string): string {
  if (request.params.text("namespace") !== "" && named !== "" && named !== request.query.namespace)
    throw new HttpError(400, "Namespace of the body is not the namespace of the request");
  const namespace = named === "" ? request.query.namespace : named;
  if (namespace === "*") throw new HttpError(400, "a variable needs one namespace");
  return namespace;
}

function casOf(request: ApiRequest): number | undefined {
  const cas = request.params.integer("cas");
  if (cas !== undefined && cas < 0) throw new HttpError(400, "cas must not be negative");
  return cas;
}

function refuseLocks(request: ApiRequest): void {
  for (const name of ["lock-acquire", "lock-release", "lock-renew"]) {
    if (request.params.has(name)) throw new HttpError(400, `${name} is not supported by this agent`);
  }
}

function itemsOf(value: unknown): Record<string, string> {
  const items = value === undefined || value === null ? {} : asObject(value);
  for (const [key, item] of Object.entries(items)) {
    if (typeof item !== "string") throw new HttpError(400, `Items[${JSON.stringify(key)}] must be text`);
  }
  return items as Record<string, string>;
}

/** A conflict shows what stands there: nothing has index 0. */
function answered(result: VariableChange, at: { readonly namespace: string; readonly path: string }): ApiResult {
  if (result.kind === "done") {
    return result.variable === undefined
      ? { kind: "empty", status: 204, writeIndex: result.index }
      : writeJson(result.variable, result.index);
  }
  const none = {
    Namespace: at.namespace,
    Path: at.path,
    Lock: null,
    CreateIndex: 0,
    CreateTime: 0,
    ModifyIndex: 0,
    ModifyTime: 0,
    Items: null,
  };
  return { kind: "json", status: 409, value: result.variable ?? none };
}
