import { formatDuration } from "@outrider/nomad-structs";
import { sleep } from "@outrider/backoff";
import type { ApiClient } from "./api-client.ts";
import type { CommandContext } from "./command.ts";
import { deploymentText } from "./deployment-text.ts";
import { instant, printable, shortId } from "./format.ts";
import { placementFailure } from "./placement-failure.ts";
import { waitingLines, type WaitingTask } from "./waiting-tasks.ts";
import type { AllocView, DeploymentView, EvaluationView } from "./views.ts";

const POLL_MS = 1000;

/** Follows evaluations and deployments on the terminal, in the lines that users of Nomad know. */
export class Monitor {
  readonly #context: CommandContext;
  readonly #client: ApiClient;
  readonly #verbose: boolean;
  #waiting: readonly WaitingTask[];

  constructor(
    context: CommandContext,
    client: ApiClient,
    o: { readonly verbose: boolean; readonly waiting?: readonly WaitingTask[] },
  ) {
    this.#context = context;
    this.#client = client;
    this.#verbose = o.verbose;
    this.#waiting = o.waiting ?? [];
  }

  #now(): string {
    return instant(this.#context.clock.now() * 1e6);
  }

  #head(text: string): void {
    this.#context.stdout.write(`==> ${this.#now()}: ${printable(text)}\n`);
  }

  #line(text: string): void {
    this.#context.stdout.write(`    ${this.#now()}: ${printable(text)}\n`);
  }

  /** Follows an evaluation to its end, then its deployment. Gives the exit code: 0, 1 for a failure, 2 when not all could be placed. */
  async evaluation(id: string): Promise<number> {
    this.#head(`Monitoring evaluation "${shortId(id, this.#verbose)}"`);
    let status = "pending";
    let named = false;
    let deployment = "";
    const allocs = new Map<string, string>();
    for (;;) {
      const { value: evaluation } = await this.#client.get<EvaluationView>(
        `/v1/evaluation/${id}`,
        { related: true },
        this.#context.signal,
      );
      const { value: list } = await this.#client.get<AllocView[]>(
        `/v1/evaluation/${id}/allocations`,
        undefined,
        this.#context.signal,
      );
      if (!named) {
        named = true;
        if (evaluation.NodeID)
          this.#line(`Evaluation triggered by node "${shortId(evaluation.NodeID, this.#verbose)}"`);
        else this.#line(`Evaluation triggered by job "${evaluation.JobID ?? ""}"`);
      }
      if (evaluation.DeploymentID && evaluation.DeploymentID !== deployment) {
        deployment = evaluation.DeploymentID;
        this.#line(`Evaluation within deployment: "${shortId(deployment, this.#verbose)}"`);
      }
      for (const alloc of [...list].sort((a, b) => (a.ID < b.ID ? -1 : 1))) this.#allocation(allocs, alloc, evaluation);
      const now = evaluation.Status ?? "";
      if (now !== "" && now !== status) {
        this.#line(`Evaluation status changed: "${status}" -> "${now}"`);
        status = now;
      }
      if (["complete", "failed", "canceled", "cancelled"].includes(now))
        return this.#finished(evaluation, now, deployment);
      await sleep(POLL_MS, { signal: this.#context.signal, clock: this.#context.clock });
    }
  }

  #allocation(known: Map<string, string>, alloc: AllocView, evaluation: EvaluationView): void {
    const before = known.get(alloc.ID);
    const status = alloc.ClientStatus ?? "";
    const name = shortId(alloc.ID, this.#verbose);
    if (before === undefined) {
      const verb = (alloc.CreateIndex ?? 0) < (evaluation.CreateIndex ?? 0) ? "modified" : "created";
      this.#line(
        `Allocation "${name}" ${verb}: node "${shortId(alloc.NodeID ?? "", this.#verbose)}", group "${alloc.TaskGroup ?? ""}"`,
      );
    } else if (before !== status) {
      this.#line(
        `Allocation "${name}" status changed: "${before}" -> "${status}"${alloc.ClientDescription ? ` (${alloc.ClientDescription})` : ""}`,
      );
    }
    known.set(alloc.ID, status);
  }

  async #finished(evaluation: EvaluationView, status: string, deployment: string): Promise<number> {
    const failures = Object.entries(evaluation.FailedTGAllocs ?? {});
    const id = shortId(evaluation.ID, this.#verbose);
    let code = status === "complete" ? 0 : 1;
    if (failures.length === 0) {
      this.#head(
        `Evaluation "${id}" finished with status "${status}"${code === 1 && evaluation.StatusDescription ? ` (${evaluation.StatusDescription})` : ""}`,
      );
    } else {
      code = 2;
      this.#head(`Evaluation "${id}" finished with status "${status}" but failed to place all allocations:`);
      for (const [group, metric] of failures.sort(([a], [b]) => (a < b ? -1 : 1))) {
        const count = (metric.CoalescedFailures ?? 0) + 1;
        this.#line(`Task Group "${group}" (failed to place ${count} allocation${count === 1 ? "" : "s"}):`);
        for (const line of placementFailure(metric, "      ")) this.#context.stdout.write(`${printable(line)}\n`);
      }
      if (evaluation.BlockedEval)
        this.#line(
          `Evaluation "${shortId(evaluation.BlockedEval, this.#verbose)}" waiting for additional capacity to place remainder`,
        );
    }
    if (evaluation.NextEval) {
      const wait = evaluation.WaitUntil ? Date.parse(evaluation.WaitUntil) - this.#context.clock.now() : 0;
      this.#line(
        `Monitoring next evaluation "${shortId(evaluation.NextEval, this.#verbose)}"${wait > 0 ? ` in ${formatDuration(wait * 1e6)}` : ""}`,
      );
      await sleep(Math.max(0, wait), { signal: this.#context.signal, clock: this.#context.clock });
      return this.evaluation(evaluation.NextEval);
    }
    return deployment === "" ? code : this.deployment(deployment);
  }

  /** Follows a deployment to its end. 0 when it succeeded, else 1. */
  async deployment(id: string): Promise<number> {
    this.#head(`Monitoring deployment "${shortId(id, this.#verbose)}"`);
    let index = 0;
    let shown = "";
    for (;;) {
      const answer = await this.#client.get<DeploymentView>(
        `/v1/deployment/${id}`,
        { stale: "", ...(index > 0 ? { index } : {}) },
        this.#context.signal,
      );
      const text = printable(deploymentText(answer.value, { verbose: this.#verbose, withJob: true }));
      if (text !== shown) this.#context.stdout.write(`    \n${this.#now()}\n${text}\n`);
      shown = text;
      const status = answer.value.Status ?? "";
      if (status === "successful") return 0;
      if (["failed", "cancelled"].includes(status)) return 1;
      if (this.#waiting.length > 0)
        for (const line of waitingLines(this.#waiting, answer.value, this.#context.clock.now())) this.#line(line);
      this.#waiting = [];
      // An agent that sends no index would be asked in a tight loop.
      if (answer.index <= index) await sleep(POLL_MS, { signal: this.#context.signal, clock: this.#context.clock });
      index = Math.max(index, answer.index);
    }
  }
}
