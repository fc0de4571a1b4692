import type { Allocation, ReschedulePolicy, RescheduleTracker } from "@outrider/nomad-structs";

const MS_NS = 1_000_000;

/** When, if ever, a failed allocation is to be replaced. */
export type RescheduleDecision =
  | { readonly kind: "never" }
  | { readonly kind: "at"; readonly atMs: number; readonly delayNs: number };

/** Time of the failure: the last end of any task, or the last change. Epoch ms. */
export function failedAtMs(alloc: Allocation): number {
  let last = 0;
  for (const state of Object.values(alloc.TaskStates ?? {})) {
    const at = state.FinishedAt === null ? Number.NaN : Date.parse(state.FinishedAt);
    if (at > last) last = at;
  }
  return last === 0 ? alloc.ModifyTime / MS_NS : last;
}

/** Decides by the policy and by the replacements that led here. */
export function decideReschedule(alloc: Allocation, policy: ReschedulePolicy | null): RescheduleDecision {
  if (policy === null || (policy.Attempts === 0 && !policy.Unlimited)) return { kind: "never" };
  if (alloc.NextAllocation !== "") return { kind: "never" };
  const failedMs = failedAtMs(alloc);
  const events = (alloc.RescheduleTracker?.Events ?? []).filter((event) => event !== null);
  if (!policy.Unlimited) {
    const inInterval = events.filter((event) => failedMs * MS_NS - event.RescheduleTime < policy.Interval);
    if (inInterval.length >= policy.Attempts) return { kind: "never" };
  }
  const delayNs = nextDelayNs(policy, events, failedMs * MS_NS);
  return { kind: "at", atMs: Math.ceil(failedMs + delayNs / MS_NS), delayNs };
}

type PastEvent = { readonly RescheduleTime: number; readonly Delay: number };

/** Delay before the next replacement: grows by the policy's function up to its maximum, and starts anew after a long good run. */
export function nextDelayNs(policy: ReschedulePolicy, events: readonly PastEvent[], failedNs: number): number {
  const last = events.at(-1);
  if (last === undefined || policy.DelayFunction === "constant") return policy.Delay;
  const limit = policy.MaxDelay > 0 ? policy.MaxDelay : Number.MAX_SAFE_INTEGER;
  const grown = policy.DelayFunction === "fibonacci" ? last.Delay + (events.at(-2)?.Delay ?? 0) : last.Delay * 2;
  const delay = Math.min(Math.max(grown, policy.Delay), limit);
  return failedNs - last.RescheduleTime > delay ? policy.Delay : delay;
}

/** The tracker that a replacement carries on. Only what still counts is kept, at most the last five for unlimited policies. */
export function nextTracker(
  alloc: Allocation,
  policy: ReschedulePolicy,
  nowMs: number,
  delayNs: number,
): RescheduleTracker {
  const before = (alloc.RescheduleTracker?.Events ?? []).filter((event) => event !== null);
  const kept = policy.Unlimited
    ? before.slice(-5)
    : before.filter((event) => nowMs * MS_NS - event.RescheduleTime < policy.Interval);
  const event = { RescheduleTime: nowMs * MS_NS, PrevAllocID: alloc.ID, PrevNodeID: alloc.NodeID, Delay: delayNs };
  return { Events: [...kept, event], LastReschedule: "ok" };
}
