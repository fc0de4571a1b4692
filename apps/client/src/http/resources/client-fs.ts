import { streamFile } from "@outrider/allocdir-interface";
import type { AllocDirFS, AllocFileInfo } from "@outrider/allocdir-interface";
import type { ApiContext } from "../api-context.ts";
import { json, type ApiRequest, type ApiResult, type Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { sendFrames } from "../frame-stream.ts";
import { sendFile } from "../file-answer.ts";
import { handlersOf } from "./client-allocation.ts";

/** `/v1/client/fs/…/:id`: files and logs of an allocation. */
export function clientFsResource(context: ApiContext): Resource {
  return {
    path: "/v1/client/fs/:sub/:id",
    methods: {
      GET: (request) => {
        switch (request.path["sub"]) {
          case "ls":
            return list(context, request);
          case "stat":
            return stat(context, request);
          case "cat":
            return cat(context, request);
          case "readat":
            return readAt(context, request);
          case "stream":
            return stream(context, request);
          case "logs":
            return logs(context, request);
          default:
            throw new HttpError(404, "Invalid method");
        }
      },
    },
  };
}

function fsOf(context: ApiContext, request: ApiRequest): AllocDirFS {
  const { handlers, id } = handlersOf(context, request);
  return handlers.allocFs(id);
}

function pathOf(request: ApiRequest): string {
  const path = request.params.text("path");
  if (path === "") throw new HttpError(400, "must provide a file name");
  return path;
}

async function list(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const path = request.params.text("path");
  return json(await fsOf(context, request).list(path === "" ? "/" : path));
}

async function stat(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const fs = fsOf(context, request);
  return json(await fs.stat(pathOf(request)));
}

async function regular(fs: AllocDirFS, path: string): Promise<AllocFileInfo> {
  const info = await fs.stat(path);
  if (info.IsDir) throw new HttpError(400, `file ${JSON.stringify(path)} is a directory`);
  return info;
}

async function cat(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const fs = fsOf(context, request);
  const path = pathOf(request);
  const info = await regular(fs, path);
  return sendFile(context, request, await fs.readAt(path, 0), info.ContentType, 0);
}

async function readAt(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const fs = fsOf(context, request);
  const path = pathOf(request);
  const offset = request.params.integer("offset");
  if (offset === undefined) throw new HttpError(400, 'error parsing offset: "" is not a whole number');
  if (offset < 0) throw new HttpError(400, `can't seek to offset ${offset}`);
  const limit = request.params.integer("limit") ?? 0;
  const info = await regular(fs, path);
  return sendFile(context, request, await fs.readAt(path, offset), info.ContentType, limit);
}

async function stream(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const fs = fsOf(context, request);
  const path = pathOf(request);
  await regular(fs, path);
  const wanted = {
    path: path.replace(/^\/+/, ""),
    offset: offsetOf(request),
    origin: originOf(request),
    follow: request.params.flag("follow", true),
  };
  return sendFrames(context, request, {
    contentType: "text/plain; charset=utf-8",
    plain: false,
    follow: wanted.follow,
    frames: (signal) => streamFile(fs, wanted, { signal }),
  });
}

async function logs(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const task = request.params.text("task");
  if (task === "") throw new HttpError(400, "must provide task name");
  const type = request.params.text("type");
  if (type !== "stdout" && type !== "stderr") throw new HttpError(400, "must provide log type (stdout/stderr)");
  const origin = originOf(request);
  const plain = request.params.flag("plain");
  const wanted = { task, type, follow: request.params.flag("follow"), offset: offsetOf(request), origin } as const;
  const { handlers, id } = handlersOf(context, request);
  return sendFrames(context, request, {
    contentType: plain ? "text/plain" : "application/json",
    plain,
    follow: wanted.follow,
    frames: (signal) => handlers.logs(id, wanted, signal),
  });
}

function originOf(request: ApiRequest): "start" | "end" {
  const origin = request.params.text("origin");
  if (origin === "" || origin === "start") return "start";
  if (origin === "end") return "end";
  throw new HttpError(400, "origin must be start or end");
}

function offsetOf(request: ApiRequest): number {
  const offset = request.params.integer("offset") ?? 0;
  if (offset < 0) throw new HttpError(400, `can't seek to offset ${offset}`);
  return offset;
}
