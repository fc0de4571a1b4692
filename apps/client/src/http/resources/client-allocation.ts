import { AllocResourceUsageStruct, encode } from "@outrider/nomad-structs";
import type { ApiContext } from "../api-context.ts";
import {
  change,
  json,
  type ApiHandler,
  type ApiMethod,
  type ApiRequest,
  type ApiResult,
  type Resource,
} from "../api-types.ts";
import { checkUuid } from "../check-uuid.ts";
import { HttpError } from "../http-error.ts";
import { asObject, flagField, parseJsonBody, parseOptionalJsonBody, textField } from "../json-body.ts";
import { execOverWebsocket } from "./client-exec.ts";
import { sendSnapshot } from "./client-snapshot.ts";
import type { NodeHandlers, PauseState } from "../../node/node-handlers.ts";

/** Words of the API for pause states. */
const PAUSE_WORDS: Readonly<Record<string, PauseState>> = {
  pause: "force_pause",
  run: "force_run",
  scheduled: "schedule_resume",
};

/** `/v1/client/allocation/:id/…`: calls that go to the node. */
export function clientAllocationResource(context: ApiContext): Resource {
  const subs = subResources(context);
  const route: ApiHandler = (request) => {
    const sub = subs[request.path["sub"] ?? ""];
    if (sub === undefined) throw new HttpError(404, "resource not found");
    const handler = sub[request.method];
    if (handler === undefined) throw new HttpError(405, "Invalid method");
    return handler(request);
  };
  return { path: "/v1/client/allocation/:id/:sub", methods: { GET: route, PUT: route, POST: route, DELETE: route } };
}

/** The node's side; 404 while there is none. */
export function nodeHandlers(context: ApiContext): NodeHandlers {
  const handlers = context.handlers();
  if (handlers === undefined) throw new HttpError(404, "No path to node");
  return handlers;
}

/** The node's side of one allocation; 404 when it is not there. */
export function handlersOf(
  context: ApiContext,
  request: ApiRequest,
): { readonly handlers: NodeHandlers; readonly id: string } {
  const id = checkUuid(request.path["id"], "alloc");
  const handlers = nodeHandlers(context);
  if (!handlers.hasAlloc(id)) throw new HttpError(404, `Unknown allocation "${id}"`);
  return { handlers, id };
}

function subResources(context: ApiContext): Readonly<Record<string, Partial<Record<ApiMethod, ApiHandler>>>> {
  const done = (): ApiResult => json({ Index: 0 });
  return {
    stats: {
      GET: async (request) => {
        const { handlers, id } = handlersOf(context, request);
        const task = request.params.text("task");
        return json(encode(AllocResourceUsageStruct, await handlers.allocStats(id, task === "" ? undefined : task)));
      },
    },
    snapshot: {
      GET: (request) => {
        const { handlers, id } = handlersOf(context, request);
        return sendSnapshot(context, request, handlers.allocFs(id));
      },
    },
    checks: {
      GET: async (request) => {
        const { handlers, id } = handlersOf(context, request);
        return json(await handlers.checks(id));
      },
    },
    signal: change(async (request) => {
      const { handlers, id } = handlersOf(context, request);
      const body = asObject(parseJsonBody(request.body));
      await handlers.signal(id, textField(body, "Task"), textField(body, "Signal"));
      return done();
    }),
    restart: change(async (request) => {
      const { handlers, id } = handlersOf(context, request);
      const body = asObject(parseOptionalJsonBody(request.body));
      await handlers.restart(id, { task: textField(body, "TaskName"), allTasks: flagField(body, "AllTasks") });
      return done();
    }),
    pause: {
      GET: async (request) => {
        const { handlers, id } = handlersOf(context, request);
        return json({ ScheduleState: await handlers.getPause(id, request.params.text("task")) });
      },
      ...change(async (request) => {
        const id = checkUuid(request.path["id"], "alloc");
        const body = asObject(parseOptionalJsonBody(request.body));
        const state = PAUSE_WORDS[textField(body, "ScheduleState")];
        if (state === undefined) throw new HttpError(400, "Not a valid task schedule state");
        await handlersOf(context, request).handlers.setPause(id, textField(body, "Task"), state);
        return done();
      }),
    },
    // Changes state, so no GET as in Nomad.
    gc: change(async (request) => {
      const id = checkUuid(request.path["id"], "alloc");
      await nodeHandlers(context).collectGarbage(id);
      return { kind: "empty" };
    }),
    exec: {
      GET: (request) => execOverWebsocket(context, request, () => handlersOf(context, request)),
    },
  };
}
