import { statSync } from "node:fs";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Answer, cleanEnv, exec, jobOf, MAIN, Rig, send, shTask, until } from "./harness.ts";

/** One path of every kind: lists, one thing, changes, files, streams, the agent itself, and what there is not. */
const PATHS = (allocId: string): string[] => [
  "/v1/jobs",
  "/v1/jobs/parse",
  "/v1/validate/job",
  "/v1/job/web",
  "/v1/job/web/allocations",
  "/v1/job/web/evaluate",
  "/v1/allocations",
  `/v1/allocation/${allocId}`,
  `/v1/allocation/${allocId}/stop`,
  `/v1/client/allocation/${allocId}/stats`,
  `/v1/client/allocation/${allocId}/restart`,
  `/v1/client/allocation/${allocId}/signal`,
  `/v1/client/allocation/${allocId}/pause`,
  `/v1/client/allocation/${allocId}/gc`,
  `/v1/client/fs/logs/${allocId}?task=t&type=stdout`,
  `/v1/client/fs/ls/${allocId}`,
  "/v1/client/stats",
  "/v1/client/gc",
  "/v1/nodes",
  "/v1/evaluations",
  "/v1/deployments",
  "/v1/event/stream",
  "/v1/metrics",
  "/v1/search",
  "/v1/agent/self",
  "/v1/agent/health",
  "/v1/status/leader",
  "/v1/system/gc",
  "/v1/vars",
  "/v1/services",
  "/v1/nothing",
  "/",
  "/%2e%2e/v1/jobs",
];
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
const EVIL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "another Host": { host: "evil.example:4646" },
  "a Host that only begins like ours": { host: "127.0.0.1.evil.example" },
  "a Host that only ends like ours": { host: "evil.localhost" },
  "another Origin": { origin: "http://evil.example" },
  "the Origin of another port": { origin: "http://127.0.0.1:1" },
  "the Origin of a sandboxed page": { origin: "null" },
  "a cross-site fetch": { "sec-fetch-site": "cross-site" },
  "a fetch of the same site": { "sec-fetch-site": "same-site" },
};

const corsHeaders = (answer: Answer): string[] =>
  Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));

describe("an agent on loopback and a hostile web page", () => {
  let rig: Rig;
  let allocId: string;
  beforeAll(async () => {
    rig = new Rig("page");
    await rig.start();
    await rig.submit(jobOf("web", [shTask("t", "echo secret; exec sleep 86400")]));
    allocId = (await rig.alloc("web", "runs", (alloc) => alloc.ClientStatus === "running")).ID;
  });
  afterAll(() => rig.close());

  for (const [what, headers] of Object.entries(EVIL)) {
    it(`refuses ${what} for every method and kind of path`, async () => {
      const calls = PATHS(allocId).flatMap((path) => METHODS.map((method) => ({ method, path })));
      const answers = await Promise.all(
        calls.map(async (call) => ({ ...call, answer: await send(rig.address, call.method, call.path, { headers }) })),
      );
      const wrong = answers.filter(
        ({ answer: a }) => a.status !== 403 || corsHeaders(a).length > 0 || a.text.length > 200,
      );
      expect(wrong).toEqual([]);
      expect((await rig.allocs("web"))[0]).toMatchObject({ ID: allocId, ClientStatus: "running" });
    });
  }

  it("never allows a page to read anything: no answer has a CORS header", async () => {
    const found: string[] = [];
    for (const path of PATHS(allocId).filter((p) => p !== "/v1/event/stream")) {
      for (const method of ["GET", "OPTIONS", "HEAD"]) {
        const answer = await send(rig.address, method, path, {
          headers: { "access-control-request-method": "PUT", "access-control-request-headers": "content-type" },
        });
        found.push(...corsHeaders(answer).map((name) => `${method} ${path}: ${name}`));
      }
    }
    expect(found).toEqual([]);
  });

  it("refuses what a form of a foreign page can send, and what its pictures and links can fetch", async () => {
    const { port } = rig.address as { port: number };
    const host = `127.0.0.1:${port}`;
    const job = JSON.stringify({ Job: jobOf("evil", [shTask("t", "exec sleep 86400")]) });
    const bodies: Record<string, string> = {
      "text/plain": job,
      "application/x-www-form-urlencoded": job,
      "multipart/form-data; boundary=x": `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${job}\r\n--x--\r\n`,
    };
    for (const [type, body] of Object.entries(bodies)) {
      for (const from of [
        { origin: "http://evil.example", referer: "http://evil.example/" },
        { referer: "http://evil.example/" },
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      ] as Record<string, string>[]) {
        const answer = await send(rig.address, "POST", "/v1/jobs", {
          headers: { host, "content-type": type, ...from },
          body,
        });
        expect([type, from, answer.status]).toEqual([type, from, 403]);
      }
    }
    const image = await send(rig.address, "GET", `/v1/client/fs/logs/${allocId}?task=t&type=stdout`, {
      headers: { host, "sec-fetch-site": "cross-site", "sec-fetch-dest": "image" },
    });
    expect(image.status).toBe(403);
    expect((await rig.call<any[]>("GET", "/v1/jobs")).map((j) => j.ID)).toEqual(["web"]);
  });

  it("changes nothing by GET", async () => {
    for (const sub of ["restart", "signal", "gc"])
      expect((await send(rig.address, "GET", `/v1/client/allocation/${allocId}/${sub}`)).status).toBe(405);
    for (const path of ["/v1/system/gc", "/v1/client/gc", `/v1/allocation/${allocId}/stop`, "/v1/job/web/evaluate"])
      expect([path, (await send(rig.address, "GET", path)).status]).toEqual([path, 405]);
    const { TaskStates } = (await rig.allocs("web"))[0];
    expect(TaskStates.t).toMatchObject({ State: "running", Restarts: 0 });
  });

  it("still serves its own user under every name of loopback", async () => {
    const { port } = rig.address as { port: number };
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, "localhost"])
      expect((await send(rig.address, "GET", "/v1/jobs", { headers: { host } })).status).toBe(200);
    const own = { host: `localhost:${port}`, origin: `http://localhost:${port}`, "sec-fetch-site": "same-origin" };
    expect((await send(rig.address, "GET", "/v1/jobs", { headers: own })).status).toBe(200);
  });

  it("bounds every body: too long 413, too deep 400, no JSON 400, and goes on", async () => {
    for (const bytes of [4 * 2 ** 20 + 1, 50 * 2 ** 20]) {
      const long = await send(rig.address, "PUT", "/v1/jobs", { body: Buffer.alloc(bytes, 0x20) });
      expect([bytes, long.status]).toEqual([bytes, 413]);
    }
    const small = await send(rig.address, "PUT", `/v1/client/allocation/${allocId}/signal`, {
      body: Buffer.alloc(100_000, 0x20),
    });
    expect(small.status).toBe(413);
    const deep = `{"Job":{"Meta":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    expect((await send(rig.address, "PUT", "/v1/jobs", { body: deep })).status).toBe(400);
    const wide = `{"Job":{"Meta":[${"0,".repeat(1_000_000)}0]}}`;
    expect((await send(rig.address, "PUT", "/v1/jobs", { body: wide })).status).toBe(400);
    const proto = `{"Job":{"__proto__":{"x":1},"ID":"p","constructor":{}}}`;
    expect((await send(rig.address, "PUT", "/v1/jobs", { body: proto })).status).toBeGreaterThanOrEqual(400);
    for (const body of ["", "null", "[]", "{", "\0", "{}", '{"Job":7}', '{"Job":null}'])
      expect([body, (await send(rig.address, "PUT", "/v1/jobs", { body })).status]).toEqual([body, 400]);
    expect((await rig.call<any[]>("GET", "/v1/jobs")).length).toBe(1);
  });

  it("lets 500 waiting queries starve nobody, and forgets them when they leave", async () => {
    const { index } = await waitIndex();
    const { host, port } = rig.address as { host: string; port: number };
    const sockets: Socket[] = [];
    for (let i = 0; i < 500; i++) {
      const socket = connect(port, host);
      socket.on("error", () => undefined);
      socket.write(`GET /v1/nodes?index=${index}&wait=300s HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      sockets.push(socket);
    }
    await until("500 connections", () => rig.clients() >= 500);
    await Promise.all(Array.from({ length: 20 }, () => rig.call("GET", "/v1/jobs")));
    expect((await rig.cli("job", "status")).code).toBe(0);
    await rig.submit(jobOf("meanwhile", [shTask("t", "exit 0")], { type: "batch" }));
    await rig.alloc("meanwhile", "is complete", (alloc) => alloc.ClientStatus === "complete");
    // All that while they waited.
    expect(rig.clients()).toBeGreaterThanOrEqual(500);
    for (const socket of sockets) socket.destroy();
    await until("the agent to let go", () => rig.clients() === 0);
  });

  it("ends connections that send their request drop by drop", async () => {
    const { host, port } = rig.address as { host: string; port: number };
    const from = performance.now();
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, host);
      let text = "";
      let sent = 0;
      const request = `GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(1000)}`;
      const drip = setInterval(() => sent < request.length && socket.write(request[sent++] as string), 100);
      socket.on("data", (chunk) => (text += String(chunk)));
      socket.on("error", () => undefined);
      socket.once("close", () => {
        clearInterval(drip);
        resolve(text);
      });
    });
    expect(performance.now() - from).toBeLessThan(25_000);
    expect(answer === "" || answer.startsWith("HTTP/1.1 408")).toBe(true);
    expect((await send(rig.address, "GET", "/v1/jobs")).status).toBe(200);
  });

  async function waitIndex(): Promise<{ index: number }> {
    const answer = await send(rig.address, "GET", "/v1/nodes");
    return { index: Number(answer.headers["x-nomad-index"]) + 1_000_000 };
  }
});

describe("an agent beyond loopback", () => {
  let rig: Rig;
  afterEach(() => rig.close());

  const token = "a token that nobody guesses";

  it("is refused without a token", async () => {
    rig = new Rig("open");
    for (const bind of ["0.0.0.0", "::", "192.0.2.1"]) {
      const flags = ["agent", "-data-dir", rig.data, "-port", "0", "-bind", bind];
      const refused = await exec(process.execPath, [MAIN, ...flags], cleanEnv());
      expect([bind, refused.code]).toEqual([bind, 1]);
      expect(refused.stderr).toContain("-token");
    }
    const short = await exec(
      process.execPath,
      [MAIN, "agent", "-data-dir", rig.data, "-port", "0", "-bind", "0.0.0.0", "-token", "short"],
      cleanEnv(),
    );
    expect(short.code).toBe(1);
  });

  it("wants the token for reading as for changing, and tells nothing without it", async () => {
    rig = new Rig("token", { flags: () => ["-port", "0", "-bind", "0.0.0.0"], token });
    await rig.start();
    const { port } = rig.address as { port: number };
    const at = { host: "127.0.0.1", port };
    for (const path of PATHS("00000000-0000-0000-0000-000000000000")) {
      for (const [headers, what] of [
        [{}, "none"],
        [{ "x-nomad-token": "wrong" }, "wrong"],
        [{ authorization: `Basic ${token}` }, "another scheme"],
      ] as const) {
        const answer = await send(at, "GET", path, { headers });
        expect([path, what, answer.status]).toEqual([path, what, 403]);
      }
    }
    expect((await send(at, "GET", "/v1/jobs", { headers: { "x-nomad-token": token } })).status).toBe(200);
    expect((await send(at, "GET", "/v1/jobs", { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    const evil = { "x-nomad-token": token, host: "evil.example" };
    expect((await send(at, "GET", "/v1/jobs", { headers: evil })).status).toBe(403);
    const [own] = Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).filter((i) => i.family === "IPv4" && !i.internal),
    );
    if (own !== undefined) {
      const there = { host: own.address, port };
      expect((await send(there, "GET", "/v1/jobs")).status).toBe(403);
      expect((await send(there, "GET", "/v1/jobs", { headers: { "x-nomad-token": token } })).status).toBe(200);
    }
    const shown = await exec("/bin/sh", ["-c", `tr '\\0' ' ' </proc/${rig.agentPid}/cmdline`], cleanEnv());
    expect(shown.stdout).not.toContain(token);
    expect(rig.stderr).not.toContain(token);
  });
});

describe("an agent on a unix socket", () => {
  let rig: Rig;
  afterEach(() => rig.close());

  it("listens nowhere else, lets nobody else in, and serves the command line", async () => {
    rig = new Rig("socket", { flags: (dir) => ["-socket", join(dir, "run", "api.sock")] });
    await rig.start();
    const { socketPath } = rig.address as { socketPath: string };
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    expect(statSync(join(rig.dir, "run")).mode & 0o777).toBe(0o700);
    expect(rig.listening()).toEqual([]);
    expect((await send(rig.address, "GET", "/v1/jobs")).status).toBe(200);
    // A page cannot reach it; what looks like one is refused all the same.
    const page = { origin: "http://evil.example" };
    expect((await send(rig.address, "GET", "/v1/jobs", { headers: page })).status).toBe(403);
    expect((await rig.cli("node", "status")).stdout).toContain("ready");
    await rig.end("SIGKILL");
    await rig.start();
    expect((await rig.cli("job", "status")).code).toBe(0);
  });
});

describe("requests that end half way", () => {
  let rig: Rig;
  afterEach(() => rig.close());

  it("leave nothing behind in the agent", async () => {
    rig = new Rig("half");
    await rig.start();
    for (let i = 0; i < 50; i++) {
      const r = request({ ...rig.address, method: "PUT", path: "/v1/jobs", agent: false });
      r.on("error", () => undefined);
      r.setHeader("content-length", "100000");
      r.write("{");
      r.once("socket", (socket) => socket.once("connect", () => setTimeout(() => r.destroy(), 20)));
    }
    await until("the agent to let go", async () => {
      await rig.call("GET", "/v1/jobs");
      return rig.clients() <= 1;
    });
    expect((await rig.call<any[]>("GET", "/v1/jobs")).length).toBe(0);
  });
});
