import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobBody, ServerHarness } from "../server/harness.ts";
import { WaitingQueries } from "../../src/http/index.ts";
import { HttpHarness, type Answer } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
beforeEach(async () => {
  h = await new ServerHarness().start();
  api = new HttpHarness(h, { limits: { queries: 2, streams: 1 } });
  await h.submit(jobBody("web"));
});
afterEach(() => api.close());

const index = (answer: Answer): number => Number(answer.headers["x-nomad-index"]);
const turn = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("blocking queries", () => {
  it("answer at once when there is something newer, later when something comes", async () => {
    const now = await api.get("/v1/jobs?index=1&wait=10s");
    expect(now.json).toHaveLength(1);
    let later: Answer | undefined;
    const pending = api.get(`/v1/jobs?index=${index(now)}&wait=60s`).then((a) => (later = a));
    await turn();
    expect(later).toBeUndefined();
    await h.submit(jobBody("other"));
    await pending;
    expect(later!.json).toHaveLength(2);
    expect(index(later!)).toBeGreaterThan(index(now));
  });

  it("answer with the same index when the time is over", async () => {
    const now = await api.get("/v1/job/web");
    const pending = api.get(`/v1/job/web?index=${index(now)}&wait=2s`);
    await turn();
    await h.clock.advance(1999);
    await turn();
    expect(h.server.state.feed.waiting).toBe(1);
    await h.clock.advance(2);
    const answer = await pending;
    expect([answer.status, index(answer)]).toEqual([200, index(now)]);
    expect(h.server.state.feed.waiting).toBe(0);
  });

  it("wait for what is not there yet, and see it vanish", async () => {
    const missing = await api.get("/v1/job/later");
    expect(missing.status).toBe(404);
    const pending = api.get(`/v1/job/later?index=${index(missing)}&wait=60s`);
    await turn();
    await h.submit(jobBody("later"));
    expect((await pending).json.ID).toBe("later");
  });

  it("are not woken by what does not concern them", async () => {
    const now = await api.get("/v1/nodes");
    let done = false;
    const pending = api.get(`/v1/nodes?index=${index(now)}&wait=5s`).then(() => (done = true));
    await turn();
    await h.submit(jobBody("other"));
    await turn();
    expect(done).toBe(false);
    await h.clock.advance(6000);
    await pending;
  });

  it("never take what normal requests need: one too many is told so, everything else goes on", async () => {
    const now = index(await api.get("/v1/nodes"));
    const waiting = [api.get(`/v1/nodes?index=${now}&wait=60s`), api.get(`/v1/nodes?index=${now}&wait=60s`)];
    await turn();
    const refused = await api.get(`/v1/nodes?index=${now}&wait=60s`);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    expect((await api.get("/v1/jobs")).status).toBe(200);
    expect((await api.get("/v1/nodes?index=1&wait=60s")).status).toBe(200);
    await h.clock.advance(70_000);
    expect((await Promise.all(waiting)).map((a) => a.status)).toEqual([200, 200]);
    const again = api.get(`/v1/nodes?index=${now}&wait=1s`);
    await turn();
    await h.clock.advance(2000);
    expect((await again).status).toBe(200);
  });

  it("give their place to a newcomer once they have waited a while, oldest first, with the answer that time is over", async () => {
    const now = index(await api.get("/v1/nodes"));
    const done: number[] = [];
    const ask = (n: number): Promise<Answer> =>
      api.get(`/v1/nodes?index=${now}&wait=60s`).then((a) => {
        done.push(n);
        return a;
      });
    const first = ask(1);
    await turn();
    await h.clock.advance(600);
    const second = ask(2);
    await turn();
    await h.clock.advance(600);
    const third = ask(3);
    const answer = await first;
    expect([answer.status, index(answer), done]).toEqual([200, now, [1]]);
    // The oldest has waited 600 ms now: nobody's place is free.
    expect((await api.get(`/v1/nodes?index=${now}&wait=60s`)).status).toBe(429);
    expect(api.waiting.size).toBe(2);
    await h.clock.advance(70_000);
    await Promise.all([second, third]);
    expect(api.waiting.size).toBe(0);
  });

  it("are bounded for each connection, too", async () => {
    const wide = new WaitingQueries({
      limits: { queries: 100, streams: 1 },
      feed: h.server.state.feed,
      clock: h.clock,
      random: () => 0,
    });
    const gone = new AbortController();
    const client = {};
    const ask = (): Promise<unknown> =>
      wide.answer(() => ({ index: 5 }), {
        newest: () => 5,
        tables: ["nodes"],
        index: 5,
        waitMs: 60_000,
        signal: gone.signal,
        client,
      });
    const waiting = [ask(), ask(), ask(), ask()];
    await expect(ask()).rejects.toThrow("queries of this connection wait");
    gone.abort();
    await Promise.all(waiting);
    expect(wide.size).toBe(0);
  });

  it("do not read what cannot have changed", async () => {
    let reads = 0;
    let newest = 5;
    const gone = new AbortController();
    const pending = api.waiting.answer(() => ({ index: newest, reads: ++reads }), {
      newest: () => newest,
      tables: ["nodes"],
      index: 5,
      waitMs: 60_000,
      signal: gone.signal,
    });
    await turn();
    expect(reads).toBe(0);
    newest = 6;
    h.server.state.feed.publish(["nodes"], [], 6);
    expect(await pending).toEqual({ index: 6, reads: 1 });
  });

  it("end when the server ends", async () => {
    const now = index(await api.get("/v1/nodes"));
    const pending = api.get(`/v1/nodes?index=${now}&wait=600s`).catch(() => undefined);
    await turn();
    await api.http.close();
    await pending;
    expect(h.server.state.feed.waiting).toBe(0);
  });

  it("share the bound of streams, too", () => {
    const one = api.waiting.openStream();
    expect(() => api.waiting.openStream()).toThrow("streams are open");
    one.close();
    one.close();
    api.waiting.openStream().close();
  });
});
