import { randomUUID } from "node:crypto";
import type { Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import type { Job } from "@outrider/nomad-structs";
import type { ServiceRegistrar } from "../alloc/services/service-registrar.ts";
import type { VariableSource } from "../task/template/variable-source.ts";
import type { StateStore } from "../state/index.ts";
import { stopAlloc, type StopAllocOptions } from "./alloc-commands.ts";
import { dispatchJob, launchPeriodic, type DispatchReply, type DispatchRequest } from "./children.ts";
import { failDeploymentByUser } from "./deployment-watch.ts";
import { collectGarbage, DEFAULT_GC, FORCE_GC, type GcThresholds } from "./gc.ts";
import {
  deregisterJob,
  evaluateJob,
  registerJob,
  revertJob,
  scaleJob,
  type DeregisterOptions,
  type RegisterOptions,
  type RegisterReply,
} from "./job-commands.ts";
import type { JobRules, JobVerdict } from "./job-rules.ts";
import { LocalLink } from "./local-link.ts";
import { setEligibility } from "./node-commands.ts";
import { SchedulerLoop } from "./scheduler-loop.ts";
import { serverError } from "./server-error.ts";
import { deleteService, deregisterServices, registerServices } from "./services.ts";
import { StateKeeper } from "./state-keeper.ts";
import { jobKey } from "./tables.ts";
import { deleteVariable, putVariable, variableSource, type VariableChange, type VariableWrite } from "./variables.ts";
import type { Tx } from "./tx.ts";

/** How often ended things are looked for, ms. */
const GC_INTERVAL_MS = 300_000;

/** Options of {@link createEmbeddedServer}. */
export interface EmbeddedServerOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly rules: JobRules;
  readonly logger?: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newId?: () => string;
  readonly gc?: GcThresholds;
}

/** What a submit answers, warnings included. */
export interface SubmitReply extends RegisterReply {
  readonly warnings: readonly string[];
}

/** Jobs, their placement on this one machine, evaluations and deployments; the server end of the node port. */
export class EmbeddedServer implements AsyncDisposable {
  readonly state: StateKeeper;
  readonly link: LocalLink;
  /** Where the node lists services of provider `nomad`. */
  readonly services: ServiceRegistrar;
  /** The variables as the node's templates read them. */
  readonly variables: VariableSource;
  readonly #o: EmbeddedServerOptions;
  readonly #newId: () => string;
  readonly #loop: SchedulerLoop;
  readonly #logger: Logger;
  #gcTimer: unknown;
  #started = false;

  constructor(o: EmbeddedServerOptions) {
    this.#o = o;
    this.#logger = o.logger ?? noopLogger;
    this.#newId = o.newId ?? randomUUID;
    this.state = new StateKeeper(o.store, o.clock);
    this.#loop = new SchedulerLoop({
      state: this.state,
      clock: o.clock,
      logger: this.#logger,
      deps: { newId: this.#newId, random: o.random },
    });
    this.variables = variableSource(this.state);
    this.services = {
      register: (entries) => this.state.commit((tx) => registerServices(tx, entries)),
      deregister: (ids) => this.state.commit((tx) => deregisterServices(tx, ids)),
    };
    this.link = new LocalLink({ state: this.state, clock: o.clock, newId: this.#newId, changed: () => this.#kick() });
  }

  /** Creates or replaces a variable. */
  putVariable(o: VariableWrite): Promise<VariableChange> {
    return this.state.commit((tx) => putVariable(tx, o));
  }

  deleteVariable(o: Omit<VariableWrite, "items">): Promise<VariableChange> {
    return this.state.commit((tx) => deleteVariable(tx, o));
  }

  /** Takes a service instance off the list; gives the index. */
  deleteService(o: { readonly namespace: string; readonly name: string; readonly id: string }): Promise<number> {
    return this.state.commit((tx) => deleteService(tx, o));
  }

  /** Starts scheduling: what was pending at the last end goes on. */
  start(): void {
    this.#started = true;
    this.#loop.kick();
    this.#armGc();
  }

  /** Resolves when the scheduler has nothing to do. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#started = false;
    if (this.#gcTimer !== undefined) this.#o.clock.clearTimeout(this.#gcTimer);
    await this.#loop[Symbol.asyncDispose]();
  }

  /** Reads and judges a job without storing anything. */
  validate(raw: unknown): JobVerdict {
    return this.#o.rules.judge(this.#o.rules.canonicalize(raw));
  }

  /** Takes a job. Rejects with ERR_OUTRIDER_SERVER_INVALID when anything in it is wrong or cannot be honoured here. */
  async register(raw: unknown, o: RegisterOptions = {}): Promise<SubmitReply> {
    const job = this.#o.rules.canonicalize(raw);
    const warnings = this.#accept(job);
    const reply = await this.#change((tx) => registerJob(tx, job, this.#newId, o));
    return { ...reply, warnings };
  }

  deregister(namespace: string, id: string, o: DeregisterOptions = {}): Promise<RegisterReply> {
    return this.#change((tx) => deregisterJob(tx, namespace, id, this.#newId, o));
  }

  evaluate(namespace: string, id: string, o: { readonly forceReschedule?: boolean } = {}): Promise<RegisterReply> {
    return this.#change((tx) => evaluateJob(tx, namespace, id, this.#newId, o));
  }

  revert(
    namespace: string,
    id: string,
    version: number,
    o: { readonly enforcePriorVersion?: number | null } = {},
  ): Promise<RegisterReply> {
    return this.#change((tx) => revertJob(tx, namespace, id, version, this.#newId, o));
  }

  scale(namespace: string, id: string, group: string, count: number | null): Promise<RegisterReply> {
    return this.#change((tx) => scaleJob(tx, namespace, id, group, count, this.#newId, (job) => this.#accept(job)));
  }

  dispatch(namespace: string, id: string, request: DispatchRequest): Promise<DispatchReply> {
    return this.#change((tx) => dispatchJob(tx, namespace, id, request, this.#newId));
  }

  forcePeriodic(namespace: string, id: string): Promise<RegisterReply> {
    return this.#change((tx) => {
      const job: Job | undefined = tx.jobs.get(jobKey(namespace, id));
      if (job === undefined || job.Periodic === null)
        throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", `can't force run non-tracked job "${id}" (${namespace})`, {
          job: id,
        });
      return launchPeriodic(tx, job, tx.nowMs, this.#newId);
    });
  }

  stopAlloc(id: string, o: StopAllocOptions = {}): Promise<RegisterReply> {
    return this.#change((tx) => stopAlloc(tx, id, this.#newId, o));
  }

  failDeployment(id: string): Promise<{ readonly evalId: string; readonly index: number }> {
    return this.#change((tx) => ({ evalId: failDeploymentByUser(tx, id, this.#newId), index: tx.index }));
  }

  setEligibility(nodeId: string, eligibility: string): Promise<number> {
    return this.#change((tx) => {
      setEligibility(tx, nodeId, eligibility, this.#newId);
      return tx.index;
    });
  }

  /** Forgets everything that has ended. */
  collectGarbage(): Promise<void> {
    return this.#change((tx) => collectGarbage(tx, FORCE_GC));
  }

  /** The job's warnings. Throws when anything in it is wrong or cannot be honoured here. */
  #accept(job: Job): readonly string[] {
    const { errors, warnings } = this.#o.rules.judge(job);
    if (errors.length > 0) throw serverError("ERR_OUTRIDER_SERVER_INVALID", listErrors(errors), { errors });
    return warnings;
  }

  async #change<T>(build: (tx: Tx) => T): Promise<T> {
    const result = await this.state.commit(build);
    this.#kick();
    return result;
  }

  #kick(): void {
    if (this.#started) this.#loop.kick();
  }

  #armGc(): void {
    this.#gcTimer = this.#o.clock.setTimeout(() => {
      this.state
        .commit((tx) => collectGarbage(tx, this.#o.gc ?? DEFAULT_GC))
        .catch((reason: unknown) => this.#logger.warn({ err: reason }, "server: ended things could not be forgotten"))
        .finally(() => {
          if (this.#started) this.#armGc();
        });
    }, GC_INTERVAL_MS);
  }
}

/** Makes the embedded server over a store. */
export function createEmbeddedServer(o: EmbeddedServerOptions): EmbeddedServer {
  return new EmbeddedServer(o);
}

/** Errors in the form that Nomad's clients print. */
export function listErrors(errors: readonly string[]): string {
  const head = errors.length === 1 ? "1 error occurred:" : `${errors.length} errors occurred:`;
  return `${head}\n${errors.map((error) => `\t* ${error}\n`).join("")}\n`;
}
