import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AllocationStruct, EvaluationStruct } from "@outrider/nomad-structs";
import { canonicalizeJob, jobInputOf, validateJob } from "../../src/jobspec/index.ts";
import { createEmbeddedServer } from "../../src/server/index.ts";
import { NODE_ID, ServerHarness, testNode } from "../server/harness.ts";
import { HttpHarness } from "./harness.ts";
import { Shapes, route } from "./shapes.ts";

/** Exchanges of the stock CLI and of plain requests with a Nomad 2.0.5, shortened. */
interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly request?: unknown;
  readonly body?: unknown;
  readonly text?: string;
}
const fixtures = JSON.parse(readFileSync(new URL("./fixtures/exchanges.json", import.meta.url), "utf8")) as Array<{
  name: string;
  exchanges: Exchange[];
}>;

/** Where this API answers otherwise, on purpose: `fixture METHOD route` → our status. */
const OTHER_STATUS: Record<string, [status: number, why: string]> = {
  "alloc-pause-pause PUT /v1/client/allocation/:id/pause": [
    200,
    "schedules and pauses work here; the community build of the recording refuses them",
  ],
  "alloc-pause-run PUT /v1/client/allocation/:id/pause": [200, "as above"],
  "alloc-pause-scheduled PUT /v1/client/allocation/:id/pause": [200, "as above"],
  "alloc-pause-status GET /v1/client/allocation/:id/pause": [200, "as above"],
  "client-alloc-restart-get GET /v1/client/allocation/:id/restart": [405, "a GET changes nothing (known-bugs 9)"],
  "fs-cat-dir GET /v1/client/fs/cat/:id": [400, "errors have their status (known-bugs 9)"],
  "fs-no-path GET /v1/client/fs/cat/:id": [400, "as above"],
  "fs-readat-no-offset GET /v1/client/fs/readat/:id": [400, "as above"],
  "metrics-prometheus-disabled GET /v1/metrics": [200, "Prometheus text is on by default here"],
  "alloc-gc-running GET /v1/client/allocation/:id/gc": [405, "a GET changes nothing"],
};
/** Go leaves these out while they are empty, so they come and go with the state. What clients crash without is not among them. */
const NEEDED = new Set([
  "ID",
  "Namespace",
  "EvalID",
  "Name",
  "NodeID",
  "NodeName",
  "JobID",
  "Job",
  "TaskGroup",
  "Resources",
  "SharedResources",
  "TaskResources",
  "AllocatedResources",
  "DesiredStatus",
  "ClientStatus",
  "Priority",
  "Type",
  "TriggeredBy",
  "Status",
  "CreateIndex",
  "ModifyIndex",
  "CreateTime",
  "ModifyTime",
]);
const OMITTED = new Set(
  [AllocationStruct, EvaluationStruct].flatMap((of) => Object.keys(of.fields)).filter((key) => !NEEDED.has(key)),
);
const OMITTING = new Set([
  "/v1/allocation/:id",
  "/v1/node/:id/allocations",
  "/v1/evaluation/:id",
  "/v1/evaluations",
  "/v1/job/:job/evaluations",
]);
/** Fields that the stock server has and this one leaves out, by route. */
const ABSENT: Record<string, readonly string[]> = {
  "/v1/agent/self": ["config.*", "stats.nomad.*", "stats.raft.*", "stats.serf.*", "stats.runtime.*", "member.Tags.*"],
  "/v1/node/:id": ["TLSEnabled"],
};

let h: ServerHarness;
let api: HttpHarness;
const ids = new Map<string, string>();
const recordedIds = new Map<string, string>();
const shapes = new Shapes();

async function submit(name: string): Promise<void> {
  const put = fixtures
    .find((f) => f.name === name)!
    .exchanges.find((e) => e.path === "/v1/jobs" && e.method === "PUT")!;
  const answer = await api.call("PUT", "/v1/jobs", { body: put.request });
  expect(answer.status, answer.text).toBe(200);
  await h.settle();
}

beforeAll(async () => {
  h = new ServerHarness();
  // Judged without refusals: the recording's jobs use services and templates, whose shapes are to be seen too.
  h.server = createEmbeddedServer({
    store: h.store,
    clock: h.clock,
    random: () => 0,
    rules: {
      canonicalize: (raw) => canonicalizeJob(jobInputOf(raw)),
      judge: (job) => ({ errors: validateJob(job).errors.map((e) => e.message), warnings: validateJob(job).warnings }),
    },
  });
  await h.start(
    testNode({
      NodeResources: {
        ...testNode().NodeResources!,
        Cpu: { CpuShares: 4600, TotalCpuCores: 2, ReservableCpuCores: [0, 1] },
        Memory: { MemoryMB: 24_105 },
        MaxDynamicPort: 20_100,
      },
    }),
  );
  api = new HttpHarness(h);
  for (const name of [
    "job-run-service",
    "job-run-batch",
    "job-run-failing",
    "job-run-detach",
    "job-run-unplaceable",
    "job-run-sysbatch",
    "job-run-periodic",
    "job-run-parameterized",
  ])
    await submit(name);
  for (const job of ["web", "talker", "hello-batch", "failing", "sys-check"]) {
    await h.obey(job);
    if (job === "hello-batch" || job === "sys-check") await h.report(h.live(job)[0]!, "complete");
    if (job === "failing") await h.report(h.live(job)[0]!, "failed");
  }
  await api.call("PUT", "/v1/job/resize/dispatch", { body: { Meta: { size: "1" } } });
  await api.call("PUT", "/v1/job/nightly/periodic/force");
  await h.settle();
  for (const job of ["web", "talker", "hello-batch", "failing"]) {
    const [alloc] = h.allocs(job);
    const task = alloc!.Job!.TaskGroups![0]!.Tasks![0]!.Name;
    const dir = await api.allocDir(
      alloc!.ID,
      task,
      Object.fromEntries(
        ["talk", "hello", "server", "bad"].flatMap((t) => [
          [`${t}.stdout.0`, "out 1\nout 2\n"],
          [`${t}.stderr.0`, "err\n"],
        ]),
      ),
    );
    expect(dir.state).toBe("built");
    mkdirSync(join(api.root, alloc!.ID, task, "local"), { recursive: true });
    writeFileSync(join(api.root, alloc!.ID, task, "local", "index.txt"), "hello from 1\n");
    execFileSync("mkfifo", [join(api.root, alloc!.ID, "alloc", "logs", `.${task}.stdout.fifo`)]);
  }
  learnIds();
  for (const { exchanges } of fixtures)
    for (const e of exchanges) if (e.body !== undefined) shapes.learn(e.method, e.path, e.status, e.body);
});
afterAll(() => api.close());

/** Which of our ids stands for a recorded one: by what the recording says of it. */
function learnIds(): void {
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    const row = value as Record<string, unknown>;
    if (typeof row["ID"] === "string" && typeof row["JobID"] === "string") {
      const kind =
        "ClientStatus" in row
          ? "alloc"
          : "TriggeredBy" in row
            ? "eval"
            : "StatusDescription" in row
              ? "deployment"
              : "";
      recordedIds.set(row["ID"], `${kind}:${row["JobID"]}:${String(row["Status"])}`);
    }
    Object.values(row).forEach(walk);
  };
  for (const { exchanges } of fixtures) for (const e of exchanges) walk(e.body);
}

function ours(recorded: string): string | undefined {
  const known = ids.get(recorded);
  if (known !== undefined) return known;
  const [kind = "", job = "", status] = (recordedIds.get(recorded) ?? "").split(":");
  const base = job.split("/")[0]!;
  const pick = (): string | undefined => {
    if (kind === "alloc") return h.allocs(base)[0]?.ID;
    if (kind === "eval") return (h.evals(base).find((e) => e.Status === status) ?? h.evals(base)[0])?.ID;
    return kind === "deployment" ? h.deployments(base)[0]?.ID : undefined;
  };
  const found = recordedIds.has(recorded) ? pick() : undefined;
  if (found !== undefined) ids.set(recorded, found);
  return found;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const NODE = "a4eb80ae-ae34-d335-fdba-fc92788d5944";

/** Stands for an id of which the shortened recording tells nothing. */
function anyOf(path: string): string {
  if (path.includes("/v1/evaluation/")) return h.evals("web")[0]!.ID;
  if (path.includes("/v1/deployment/")) return h.deployments("web")[0]!.ID;
  const job = path.includes("task=hello") ? "hello-batch" : path.includes("server%2F") ? "web" : "talker";
  return h.allocs(job)[0]!.ID;
}

function translate(path: string): string {
  const talker = anyOf(path);
  return path
    .replace(UUID, (id) => (id === NODE ? NODE_ID : id.startsWith("00000000") ? id : (ours(id) ?? talker)))
    .replace(/prefix=([0-9a-f]{8})(?=&|$)/, (_all, prefix: string) => {
      if (NODE.startsWith(prefix)) return `prefix=${NODE_ID.slice(0, 8)}`;
      const full = [...recordedIds.keys()].find((id) => id.startsWith(prefix));
      return `prefix=${prefix === "00000000" ? "ffffffff" : ((full === undefined ? undefined : ours(full)) ?? talker).slice(0, 8)}`;
    })
    .replace(/([?&]index=)\d+/, (_all, head: string) => `${head}1`);
}

describe.each(fixtures.map((f) => [f.name, f] as const))("%s", (name, fixture) => {
  const seen = new Set<string>();
  for (const exchange of fixture.exchanges) {
    const key = `${exchange.method} ${route(exchange.path)}`;
    // Polls of the CLI repeat the same request; submits were the set-up.
    if (seen.has(key) || (exchange.method === "PUT" && exchange.path === "/v1/jobs" && exchange.status === 200))
      continue;
    seen.add(key);
    it(`${key} answers like Nomad 2.0.5`, async () => {
      const other = OTHER_STATUS[`${name} ${key}`];
      // Followed logs never end: they are tested by themselves.
      const path = translate(exchange.path).replace("follow=true", "follow=false");
      const answer = await api.call(
        exchange.method,
        path,
        exchange.request === undefined ? {} : { body: exchange.request },
      );
      await h.settle();
      expect(answer.status, `${path}: ${answer.text.slice(0, 300)}`).toBe(other?.[0] ?? exchange.status);
      if (other !== undefined) return;
      for (const header of ["x-nomad-index", "x-nomad-lastcontact", "x-nomad-knownleader"]) {
        expect([header, answer.headers[header] !== undefined]).toEqual([
          header,
          exchange.headers[header] !== undefined,
        ]);
      }
      expect((answer.headers["content-type"] ?? "").split(";")[0]).toBe(
        (exchange.headers["content-type"] ?? "").split(";")[0],
      );
      if (answer.json !== undefined && exchange.status === 200) {
        const found = shapes.differences(
          exchange.method,
          exchange.path,
          exchange.status,
          answer.json,
          ABSENT[route(exchange.path)] ?? [],
        );
        expect(
          found.filter(
            (text) =>
              !OMITTING.has(route(exchange.path)) ||
              !OMITTED.has(/^(?:\[\])?\.(\w+): (?:missing|not recorded)$/.exec(text)?.[1] ?? ""),
          ),
        ).toEqual([]);
      }
      if (exchange.status >= 400 && exchange.text !== undefined && !UUID.test(exchange.text) && SAME_TEXT.has(name))
        expect(answer.text).toBe(exchange.text);
    });
  }
  it("belongs to a known command", () => expect(name).not.toBe(""));
});

/** Errors whose words clients match on. */
const SAME_TEXT = new Set([
  "err-405",
  "err-bad-alloc-id",
  "err-bad-region",
  "err-unknown-alloc",
  "err-unknown-job",
  "task-pause-bad-word",
  "task-pause-delete",
  "task-pause-empty-body",
  "task-pause-short-id",
  "task-restart-both",
  "task-restart-not-running",
  "task-signal-unknown",
  "client-alloc-bad-sub",
  "fs-bad-sub",
  "fs-logs-bad-origin",
  "fs-logs-bad-type",
  "fs-logs-no-task",
  "alloc-logs-unknown-task",
  "blocking-query-bad-index",
  "blocking-query-bad-wait",
]);
