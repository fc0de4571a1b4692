import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskDir } from "@outrider/allocdir-interface";
import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import { make, TemplateStruct, type Template } from "@outrider/nomad-structs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { templateHook } from "../../src/task/hooks/template-hook.ts";
import { FakeVariables } from "../alloc/support/outside.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "outrider-template-hook-"));
  await mkdir(join(root, "local"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const template = (o: Partial<Template> = {}): Template =>
  make(TemplateStruct, {
    EmbeddedTmpl: "{{ with nomadVar `a` }}{{ .k }}{{ end }}",
    DestPath: "local/f",
    ChangeMode: "restart",
    Splay: 0,
    Perms: "0644",
    ...o,
  } as never);

/** Files take their time on a busy machine. */
const WAIT = { timeout: 10_000, interval: 2 };

/** One task's hook, with what it did to the task. */
class Fixture {
  readonly clock = new ManualClock();
  readonly variables = new FakeVariables();
  readonly log: string[] = [];
  readonly stop = new AbortController();
  isRunning = false;
  fails = false;
  readonly hook = templateHook({
    variables: this.variables,
    control: {
      restart: async ({ facts }) => {
        this.log.push(`restart ${facts?.message}`);
        if (this.fails) throw new Error("Task not running");
      },
      signal: async (name, reason) => {
        this.log.push(`signal ${name} ${reason}`);
        if (this.fails) throw new Error("Task not running");
      },
      isRunning: () => this.isRunning,
    },
    clock: this.clock,
    random: () => 0.5,
    region: "global",
    logger: noopLogger,
  });
  #state: Record<string, string> = {};
  readonly templates: Template[];

  constructor(...templates: Template[]) {
    this.templates = templates;
  }

  async prestart(previousState = this.#state): Promise<Readonly<Record<string, string>>> {
    const taskDir = {
      dir: root,
      localDir: join(root, "local"),
      sharedAllocDir: join(root, "alloc"),
      secretsDir: join(root, "secrets"),
    } as unknown as TaskDir;
    const request = {
      alloc: { Namespace: "default" },
      task: { Templates: this.templates },
      taskDir,
      env: { all: { HOME: "/root" }, replace: (text: string) => text.replace("${node.datacenter}", "dc1") },
      previousState,
      emit: (event: { type: string; facts?: { message?: string } }) =>
        void this.log.push(`${event.type} ${event.facts?.message}`),
    };
    const result = (await this.hook.prestart?.(request as never, this.stop.signal)) as {
      env: Record<string, string>;
      state: Record<string, string>;
    };
    this.#state = result.state;
    return result.env;
  }

  get state(): Record<string, string> {
    return this.#state;
  }

  async start(): Promise<void> {
    await this.prestart();
    await this.hook.poststart?.({} as never);
    await this.settle();
  }

  /** All changes are dealt with. */
  settle(): Promise<void> {
    return this.hook.idle();
  }

  /** A start waits for values. */
  async waits(): Promise<void> {
    await vi.waitFor(() => expect(this.clock.pending).toHaveLength(1), WAIT);
  }

  async logged(text: string): Promise<void> {
    await vi.waitFor(() => expect(this.log.at(-1)).toBe(text), WAIT);
  }

  text(): Promise<string> {
    return readFile(join(root, "local/f"), "utf8");
  }
}

describe("the template hook before the start", () => {
  it("gives variables of the task and facts of the node, else nothing", async () => {
    const names = ["HOME", "node.datacenter", "attr.none", "constructor"];
    const f = new Fixture(template({ EmbeddedTmpl: names.map((n) => `[{{ env "${n}" }}]`).join("") }));
    await f.prestart();
    expect(await readFile(join(root, "local/f"), "utf8")).toBe("[/root][dc1][][]");
  });

  it("waits for a missing variable, and says after 3 s which, once for each answer", async () => {
    const f = new Fixture(template(), template({ EmbeddedTmpl: "{{ nomadVar `b` }}", DestPath: "local/g" }));
    const start = f.prestart();
    await f.waits();
    await f.clock.advance(2_999);
    expect(f.log).toEqual([]);
    await f.clock.advance(1);
    await f.logged("Template Missing: nomad.var.block(a@default.global), nomad.var.block(b@default.global)");
    f.variables.set("other", { k: "1" });
    await f.clock.flush();
    f.variables.set("b", { k: "1" });
    await f.logged("Template Missing: nomad.var.block(a@default.global)");
    expect(f.log).toHaveLength(2);
    f.variables.set("a", { k: "1" });
    await start;
    expect([await f.text(), f.variables.watched, f.clock.pending.length]).toEqual(["1", 0, 0]);
  });

  it("says nothing when the variable comes within the 3 s", async () => {
    const f = new Fixture(template());
    const start = f.prestart();
    await f.waits();
    f.variables.set("a", { k: "1" });
    await start;
    expect([f.log, f.clock.pending.length]).toEqual([[], 0]);
  });

  it("ends at once with a kill", async () => {
    const f = new Fixture(template());
    const start = f.prestart();
    start.catch(() => undefined);
    await f.waits();
    f.stop.abort(new DOMException("killed", "AbortError"));
    await expect(start).rejects.toThrow("killed");
    expect([f.variables.watched, f.clock.pending.length]).toEqual([0, 0]);
  });

  it("tells what is wrong with a template", async () => {
    const f = new Fixture(template({ EmbeddedTmpl: "{{ secret `x` }}" }));
    await expect(f.prestart()).rejects.toMatchObject({
      recoverable: false,
      taskEvent: {
        type: "Task hook failed",
        facts: { message: 'template: template line 1: function "secret" is not supported' },
      },
    });
  });

  it("gives the variables of env templates", async () => {
    const f = new Fixture(template({ EmbeddedTmpl: "A={{ env `HOME` }}", Envvars: true }));
    expect(await f.prestart()).toEqual({ A: "/root" });
  });
});

describe("the template hook while the task runs", () => {
  it.each<[Partial<Template>, string[]]>([
    [{ ChangeMode: "restart" }, ["restart Template with change_mode restart re-rendered"]],
    [{ ChangeMode: "signal", ChangeSignal: "SIGHUP" }, ["signal SIGHUP Template re-rendered"]],
    [{ ChangeMode: "noop" }, []],
    [{ ChangeMode: "noop", Envvars: true, EmbeddedTmpl: "A={{ (nomadVar `a`).k }}" }, []],
  ])("does what %j says when the text changes, and nothing when it does not", async (o, expected) => {
    const f = new Fixture(template(o), template({ ...o, DestPath: "local/g" }));
    f.variables.set("a", { k: "1" });
    await f.start();
    f.variables.set("other", { k: "1" });
    await f.settle();
    expect(f.log).toEqual([]);
    f.variables.set("a", { k: "2" });
    await f.settle();
    expect([f.log, (await f.text()).endsWith("2")]).toEqual([expected, true]);
    await f.hook.exited?.();
    expect(f.variables.watched).toBe(0);
  });

  it("waits a part of the splay, and not after the task's end", async () => {
    const f = new Fixture(template({ Splay: 4e9 }));
    f.variables.set("a", { k: "1" });
    await f.start();
    f.variables.set("a", { k: "2" });
    await f.waits();
    await f.clock.advance(1_999);
    expect(f.log).toEqual([]);
    await f.clock.advance(1);
    expect(f.log).toHaveLength(1);
    f.variables.set("a", { k: "3" });
    await f.waits();
    await f.hook.exited?.();
    await f.clock.advance(5_000);
    expect([f.log.length, f.clock.pending.length]).toEqual([1, 0]);
  });

  it("sees what changed between the rendering and the start", async () => {
    const f = new Fixture(template());
    f.variables.set("a", { k: "1" });
    await f.prestart();
    f.variables.set("a", { k: "2" });
    await f.hook.poststart?.({} as never);
    await f.settle();
    expect(f.log).toHaveLength(1);
  });

  it("keeps the last text when a variable goes or a template fails, or its task cannot be told", async () => {
    const f = new Fixture(
      template({ EmbeddedTmpl: "{{ (nomadVar `a`).k | parseInt }}", ChangeMode: "signal", ChangeSignal: "SIGHUP" }),
    );
    f.variables.set("a", { k: "1" });
    await f.start();
    f.variables.set("a", undefined);
    await f.settle();
    f.variables.set("a", { k: "no number" });
    await f.settle();
    expect([f.log, await f.text()]).toEqual([[], "1"]);
    f.fails = true;
    f.variables.set("a", { k: "2" });
    await f.settle();
    expect([f.log.length, await f.text()]).toEqual([1, "2"]);
  });
});

describe("the template hook of a task that an earlier process started", () => {
  const before = async (): Promise<Record<string, string>> => {
    const f = new Fixture(
      template(),
      template({ EmbeddedTmpl: "A={{ (nomadVar `a`).k }}", Envvars: true, DestPath: "local/env" }),
    );
    f.variables.set("a", { k: "1" });
    await f.start();
    await f.hook.shutdown?.();
    return f.state;
  };
  const after = (): Fixture => {
    const f = new Fixture(
      template(),
      template({ EmbeddedTmpl: "A={{ (nomadVar `a`).k }}", Envvars: true, DestPath: "local/env" }),
    );
    f.isRunning = true;
    return f;
  };

  it("does not hold it up for a variable that is gone, and keeps its environment", async () => {
    const state = await before();
    const f = after();
    expect(await f.prestart(state)).toEqual({ A: "1" });
    expect(f.log).toEqual([]);
  });

  it("tells it what changed while there was no agent, and only then", async () => {
    for (const [k, restarts] of [
      ["1", 0],
      ["2", 1],
    ] as const) {
      const state = await before();
      const f = after();
      f.variables.set("a", { k });
      await f.prestart(state);
      await f.hook.poststart?.({} as never);
      await vi.waitFor(() => expect(f.log).toHaveLength(restarts), WAIT);
      await f.hook.stop?.({} as never);
    }
  });

  it("does not tell one that is started anew", async () => {
    const state = await before();
    const f = after();
    f.isRunning = false;
    f.variables.set("a", { k: "2" });
    await f.prestart(state);
    await f.hook.poststart?.({} as never);
    await f.settle();
    expect(f.log).toEqual([]);
  });
});
