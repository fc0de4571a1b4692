import { createHash } from "node:crypto";
import { mkdtemp, mkdir, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskDir } from "@outrider/allocdir-interface";
import { make, TaskArtifactStruct } from "@outrider/nomad-structs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { download } from "../../src/task/artifact/download.ts";
import { artifactsHook } from "../../src/task/hooks/artifacts-hook.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let handler: Handler = (_request, response) => response.end("hello");
const servers: Server[] = [];
let url = "";
let other = "";
let root = "";

beforeAll(async () => {
  for (let i = 0; i < 2; i++) {
    const server = createServer((request, response) => handler(request, response)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    servers.push(server);
  }
  [url = "", other = ""] = servers.map((s) => `http://127.0.0.1:${(s.address() as AddressInfo).port}`);
});
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "outrider-artifact-"));
  await mkdir(join(root, "local"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const get = (
  path: string,
  o: { checksum?: string; headers?: Record<string, string>; signal?: AbortSignal; maxBytes?: number; to?: string } = {},
): Promise<void> =>
  download(
    {
      url: path.startsWith("http") ? path : `${url}${path}`,
      path: "",
      checksum: o.checksum === undefined ? undefined : { algorithm: "sha256", hex: o.checksum },
    },
    {
      place: { root, path: o.to ?? "local/f" },
      headers: o.headers ?? {},
      signal: o.signal ?? new AbortController().signal,
      ...(o.maxBytes === undefined ? {} : { maxBytes: o.maxBytes }),
    },
  );
const left = (): Promise<string[]> => readdir(join(root, "local"));

describe("a download", () => {
  it("puts the file in place, with folders on the way and the job's headers sent", async () => {
    const seen: (string | undefined)[] = [];
    handler = (request, response) => {
      seen.push(request.headers["x-a"] as string, request.headers["accept-encoding"] as string);
      response.end("hello");
    };
    await get("/f", {
      headers: { "X-A": "b" },
      to: "local/deep/er/f",
      checksum: createHash("sha256").update("hello").digest("hex"),
    });
    expect(await readFile(join(root, "local/deep/er/f"), "utf8")).toBe("hello");
    expect((await stat(join(root, "local/deep/er/f"))).mode & 0o777).toBe(0o644);
    expect(seen).toEqual(["b", "identity"]);
  });

  it("sends a name and password of the URL as a header", async () => {
    let seen: string | undefined;
    handler = (request, response) => {
      seen = request.headers.authorization;
      response.end("hello");
    };
    await get(url.replace("//", "//us%40er:pa@"));
    expect(seen).toBe(`Basic ${Buffer.from("us@er:pa").toString("base64")}`);
  });

  it("follows redirects, keeps headers on the same host and drops them on another", async () => {
    const seen: [string, unknown, unknown][] = [];
    handler = (request, response) => {
      seen.push([`${request.headers.host} ${request.url}`, request.headers["x-a"], request.headers.authorization]);
      const next = { "/1": "/2", "/2": `${other}/3` }[request.url ?? ""];
      if (next === undefined) response.end("end");
      else response.writeHead(302, { location: next }).end();
    };
    await get(`${url.replace("//", "//u:p@")}/1`, { headers: { "X-A": "secret" } });
    const auth = `Basic ${Buffer.from("u:p").toString("base64")}`;
    expect(seen.map(([, a, b]) => [a, b])).toEqual([
      ["secret", auth],
      ["secret", auth],
      [undefined, undefined],
    ]);
    expect(await readFile(join(root, "local/f"), "utf8")).toBe("end");
  });

  it.each([
    ["ftp://h/x", /scheme "ftp:" is not followed/],
    ["/again", /more than 10 redirects/],
  ])("does not follow a redirect to %s for ever", async (location, message) => {
    handler = (_request, response) => response.writeHead(301, { location }).end();
    await expect(get("/again")).rejects.toThrow(message);
    expect(await left()).toEqual([]);
  });

  it.each([
    ["another status", 404, {}, /bad response code: 404/],
    ["another checksum", 200, { checksum: "0".repeat(64) }, /checksums did not match/],
    ["more than allowed", 200, { maxBytes: 4 }, /larger than 4 bytes/],
  ])("of %s leaves nothing behind", async (_what, status, o, message) => {
    handler = (_request, response) => response.writeHead(status as number).end("hello");
    await expect(get("/f", o as object)).rejects.toThrow(message as RegExp);
    expect(await left()).toEqual([]);
  });

  it("that breaks off leaves nothing behind", async () => {
    handler = (_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    };
    await expect(get("/f")).rejects.toThrow();
    expect(await left()).toEqual([]);
  });

  it("ends at once with its signal, before and within the body", async () => {
    for (const begin of [false, true]) {
      let arrived: () => void = () => undefined;
      const arrival = new Promise<void>((resolve) => (arrived = resolve));
      handler = (_request, response) => {
        if (begin) response.write("begin", () => arrived());
        else arrived();
      };
      const stop = new AbortController();
      const work = get("/f", { signal: stop.signal });
      work.catch(() => undefined);
      await arrival;
      const reason = new DOMException("the task is being stopped", "AbortError");
      stop.abort(reason);
      await expect(work).rejects.toBe(reason);
      expect(await left()).toEqual([]);
    }
  });

  it("refuses a destination that a task turned into a link", async () => {
    handler = (_request, response) => response.end("hello");
    const outside = await mkdtemp(join(tmpdir(), "outrider-outside-"));
    await symlink(outside, join(root, "local/out"));
    await expect(get("/f", { to: "local/out/f" })).rejects.toThrow();
    expect(await readdir(outside)).toEqual([]);
    await rm(outside, { recursive: true });
    await expect(get("/f", { to: "../f" })).rejects.toThrow(/escapes/);
  });

  it("says by which code a server could not be reached", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => closed.once("listening", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await expect(get(`http://127.0.0.1:${port}/f`)).rejects.toThrow(`Get "http://127.0.0.1:${port}/f": ECONNREFUSED`);
  });
});

describe("the artifacts hook", () => {
  const run = (
    artifacts: object[],
    o: { previousState?: Record<string, string>; signal?: AbortSignal; hook?: ReturnType<typeof artifactsHook> } = {},
  ): { events: string[]; done: Promise<unknown> } => {
    const events: string[] = [];
    const taskDir = {
      dir: root,
      localDir: join(root, "local"),
      sharedAllocDir: join(root, "alloc"),
      secretsDir: join(root, "secrets"),
    } as unknown as TaskDir;
    const request = {
      task: { Artifacts: artifacts.map((a) => make(TaskArtifactStruct, a as never)) },
      taskDir,
      env: { all: {}, replace: (text: string) => text.replaceAll("${N}", "f") },
      previousState: o.previousState ?? {},
      emit: (event: { type: string }) => void events.push(event.type),
    };
    return {
      events,
      done: Promise.resolve(
        (o.hook ?? artifactsHook()).prestart?.(request as never, o.signal ?? new AbortController().signal),
      ),
    };
  };

  it("does nothing for a task without artifacts", async () => {
    const { events, done } = run([]);
    expect([await done, events]).toEqual([undefined, []]);
  });

  it("fills in what the node knows, and fetches nothing twice", async () => {
    let requests = 0;
    handler = (_request, response) => {
      requests++;
      response.statusCode = requests === 2 ? 500 : 200;
      response.end("hello");
    };
    const list = [
      { GetterSource: `${url}/\${N}` },
      { GetterSource: `${url}/g`, RelativeDest: "${NOMAD_TASK_DIR}/sub" },
    ];
    const hook = artifactsHook();
    const first = run(list, { hook });
    await expect(first.done).rejects.toMatchObject({
      recoverable: true,
      taskEvent: {
        type: "Failed Artifact Download",
        facts: { error: `failed to download artifact "${url}/g": bad response code: 500` },
      },
    });
    const second = run(list, { hook });
    expect(await second.done).toMatchObject({ done: true });
    expect([requests, await left(), await readdir(join(root, "local/sub")), second.events]).toEqual([
      3,
      ["f", "sub"],
      ["g"],
      ["Downloading Artifacts"],
    ]);
  });

  it.each([{ GetterSource: "s3://b/f" }, { GetterSource: "http://h/f", RelativeDest: "../../x" }])(
    "does not try %j again",
    async (artifact) => {
      await expect(run([artifact]).done).rejects.toMatchObject({ recoverable: false });
    },
  );

  it("ends at once with a kill, without an event of failure", async () => {
    let arrived: () => void = () => undefined;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    handler = () => arrived();
    const stop = new AbortController();
    const { events, done } = run([{ GetterSource: `${url}/slow` }], { signal: stop.signal });
    done.catch(() => undefined);
    await arrival;
    stop.abort(new DOMException("killed", "AbortError"));
    await expect(done).rejects.toThrow("killed");
    expect(events).toEqual(["Downloading Artifacts"]);
  });
});
