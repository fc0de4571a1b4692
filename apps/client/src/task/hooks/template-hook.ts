import type {
  HookEnv,
  TaskEventInput,
  TaskHook,
  TaskPrestartRequest,
  TaskPrestartResult,
} from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { sleep, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { nsToMs, TASK_EVENT, type Template } from "@outrider/nomad-structs";
import { messageOf, TaskSetupError } from "../task-hook-failure.ts";
import { TemplateSet, type Rendering } from "../template/template-set.ts";
import type { VariableSource } from "../template/variable-source.ts";

/** How long a start waits for values before it says what is missing. */
const MISSING_AFTER_MS = 3000;

/** What a template may do to its task when its text changes. */
export interface TemplateTaskControl {
  restart(event: TaskEventInput): Promise<void>;
  signal(name: string, reason: string): Promise<void>;
  /** Whether the task runs: true before its first start here for one that an earlier process started. */
  isRunning(): boolean;
}

/** What the hook of one task is made of. */
export interface TemplateHookOptions {
  readonly variables: VariableSource | undefined;
  readonly control: TemplateTaskControl;
  readonly clock: Clock;
  readonly random: () => number;
  readonly region: string;
  readonly logger: Logger;
}

/** The hook of one task. */
export interface TemplateTaskHook extends TaskHook<TaskDir> {
  /** Resolves when all changes that were told before are dealt with. */
  idle(): Promise<void>;
}

/** Renders the task's templates before it starts, waiting for missing variables; renders again when they change. */
export function templateHook(o: TemplateHookOptions): TemplateTaskHook {
  return new TemplateHook(o);
}

class TemplateHook implements TemplateTaskHook {
  readonly name = "template";
  readonly #o: TemplateHookOptions;
  #set: TemplateSet | undefined;
  #request: TaskPrestartRequest<TaskDir> | undefined;
  #watch: Disposable | undefined;
  #ended = new AbortController();
  #busy: Promise<void> = Promise.resolve();
  /** Templates that a restored task has not been told of. */
  #changedMeanwhile: readonly Template[] = [];
  #live = false;

  constructor(o: TemplateHookOptions) {
    this.#o = o;
  }

  async prestart(request: TaskPrestartRequest<TaskDir>, signal: AbortSignal): Promise<TaskPrestartResult> {
    const templates = request.task.Templates ?? [];
    this.#request = request;
    this.#ended.abort();
    this.#ended = new AbortController();
    try {
      this.#set ??= await TemplateSet.load(templates, {
        taskDir: request.taskDir,
        replace: (text) => request.env.replace(text),
      });
      const { env, changed } = await this.#firstRendering(request, signal);
      // A task that starts now starts with what was just rendered.
      this.#changedMeanwhile = this.#o.control.isRunning() ? changed : [];
      return { env, state: { rendered: "1", env: JSON.stringify(env) } };
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const error = `template failed to render: ${messageOf(cause)}`;
      throw new TaskSetupError(
        error,
        { type: TASK_EVENT.hookFailed, facts: { message: `template: ${messageOf(cause)}` } },
        { cause },
      );
    }
  }

  /** Renders until nothing is missing. */
  async #firstRendering(request: TaskPrestartRequest<TaskDir>, signal: AbortSignal): Promise<Rendering> {
    let told = "";
    const started = this.#o.clock.monotonic();
    for (;;) {
      const change = this.#nextChange(signal);
      try {
        const rendering = await this.#render(request);
        if (rendering.missing.length === 0) return rendering;
        // What was rendered once stays in force: a task that runs since before a restart of the agent is never held up.
        if (known(request))
          return { ...rendering, env: JSON.parse(request.previousState["env"] ?? "{}") as Record<string, string> };
        const text = `Missing: ${rendering.missing.join(", ")}`;
        const quiet = MISSING_AFTER_MS - (this.#o.clock.monotonic() - started);
        if (quiet > 0)
          await Promise.race([
            change.promise,
            sleep(quiet, { clock: this.#o.clock, signal: AbortSignal.any([signal, change.over]) }).catch(
              () => undefined,
            ),
          ]);
        if (!change.happened() && text !== told) {
          told = text;
          request.emit({ type: TASK_EVENT.template, facts: { message: text } });
        }
        await change.promise;
      } finally {
        change.stop();
      }
    }
  }

  #nextChange(signal: AbortSignal): {
    promise: Promise<void>;
    over: AbortSignal;
    happened: () => boolean;
    stop: () => void;
  } {
    const over = new AbortController();
    let happened = false;
    let watch: Disposable | undefined;
    let onAbort: (() => void) | undefined;
    const promise = new Promise<void>((resolve, reject) => {
      watch = this.#o.variables?.onChange(() => {
        happened = true;
        resolve();
      });
      onAbort = () => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
    promise.catch(() => undefined);
    return {
      promise,
      over: over.signal,
      happened: () => happened,
      stop: () => {
        over.abort();
        watch?.[Symbol.dispose]();
        if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
      },
    };
  }

  #render(request: TaskPrestartRequest<TaskDir>): Promise<Rendering> {
    const namespace = request.alloc.Namespace;
    const source = {
      env: (name: string) => envOf(request.env, name),
      variable: (path: string) => this.#o.variables?.get(namespace, path),
      missingText: (path: string) => `nomad.var.block(${path}@${namespace}.${this.#o.region})`,
    };
    return (this.#set as TemplateSet).render(source, { known: known(request) });
  }

  poststart(): void {
    if (this.#set === undefined) return;
    this.#live = true;
    this.#watch?.[Symbol.dispose]();
    this.#watch = this.#o.variables?.onChange(() => {
      this.#busy = this.#busy.then(() => this.#again());
    });
    // What changed between the rendering and this moment, or while there was no agent, was seen by nobody.
    const missed = this.#changedMeanwhile;
    this.#changedMeanwhile = [];
    this.#busy = this.#busy.then(() => this.#again(missed));
  }

  /** A value changed while the task runs. */
  async #again(missed: readonly Template[] = []): Promise<void> {
    const request = this.#request;
    if (!this.#live || request === undefined) return;
    try {
      const { changed } = await this.#render(request);
      const all = [...new Set([...missed, ...changed])];
      if (all.length > 0) await this.#act(all);
    } catch (err) {
      this.#o.logger.error({ err }, "a template could not be rendered again; the task goes on with what it has");
    }
  }

  async #act(changed: readonly Template[]): Promise<void> {
    const splayMs = Math.max(0, ...changed.map((t) => nsToMs(t.Splay)));
    const signal = this.#ended.signal;
    if (splayMs > 0) await sleep(splayMs * this.#o.random(), { clock: this.#o.clock, signal }).catch(() => undefined);
    if (signal.aborted) return;
    if (changed.some((t) => t.ChangeMode === "restart")) {
      await this.#o.control
        .restart({
          type: TASK_EVENT.restartSignaled,
          facts: { message: "Template with change_mode restart re-rendered" },
        })
        .catch(() => undefined);
      return;
    }
    for (const name of new Set(changed.filter((t) => t.ChangeMode === "signal").map((t) => t.ChangeSignal))) {
      await this.#o.control
        .signal(name, "Template re-rendered")
        .catch((err: unknown) =>
          this.#o.logger.warn({ err, signal: name }, "a changed template's signal could not be sent"),
        );
    }
  }

  idle(): Promise<void> {
    return this.#busy;
  }

  exited(): void {
    this.#live = false;
    this.#ended.abort();
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
  }

  stop(): void {
    this.exited();
  }

  shutdown(): void {
    this.exited();
  }
}

/** Whether a rendering of this task is there, by this or an earlier process. */
function known(request: TaskPrestartRequest<TaskDir>): boolean {
  return request.previousState["rendered"] === "1";
}

/** A variable of the task, or a fact of the node (`node.…`, `attr.…`, `meta.…`); empty when there is none. */
function envOf(env: HookEnv, name: string): string {
  if (Object.hasOwn(env.all, name)) return env.all[name] as string;
  const text = `\${${name}}`;
  const value = env.replace(text);
  return value === text ? "" : value;
}
