// Lives of 1,000 allocations on one node, told to a server by alloc-sync and by plain batching every 200 ms. Time is simulated: the figures are
// counts and clock times, the same on every machine. Then the cost of a push in real time.
import { ManualClock } from "@outrider/backoff/testing";
import { createAllocSync } from "../src/index.ts";

interface State {
  id: string;
  status: string;
  health: string;
  events: number;
  /** Clock time of the change: for the measurement only. */
  at: number;
  urgent: boolean;
}
const LIVES = 1000;
const OVER_MS = 3_600_000;
const TICK_MS = 200;
const RPC_MS = 55;

// A reproducible generator (mulberry32).
let seed = 42;
const random = () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
};

/**
 * The states of a service allocation as a node sees them: received, set up, image layers, started, healthy, a few task events while it runs
 * (templates, signals), stopping, complete. Every entry is one update; running and complete change the status.
 */
function life(id: string, from: number): State[] {
  const states: State[] = [];
  let at = from;
  let events = 0;
  const add = (after: number, status: string, health: string, urgent = false) => {
    at += after;
    states.push({ id, status, health, events: ++events, at, urgent });
  };
  add(0, "pending", "");
  add(60, "pending", "");
  add(150, "pending", "");
  const layers = 4 + Math.floor(random() * 5);
  for (let i = 0; i < layers; i++) add(210 + random() * 200, "pending", "");
  add(300, "running", "", true);
  add(10_000 + random() * 5000, "running", "healthy");
  const renderings = Math.floor(random() * 3);
  for (let i = 0; i < renderings; i++) {
    add(20_000 + random() * 60_000, "running", "healthy");
    add(220, "running", "healthy");
    add(230, "running", "healthy");
  }
  add(30_000 + random() * 60_000, "running", "healthy");
  add(250, "running", "healthy");
  add(260, "complete", "healthy", true);
  return states;
}
const lives = Array.from({ length: LIVES }, (_, i) => life(`alloc-${i}`, random() * OVER_MS)).flat();
lives.sort((a, b) => a.at - b.at);

interface Outcome {
  sends: number;
  urgentWaits: number[];
}
async function run(
  make: (clock: ManualClock, send: (batch: State[]) => Promise<void>) => (state: State) => void,
): Promise<Outcome> {
  const clock = new ManualClock();
  const outcome: Outcome = { sends: 0, urgentWaits: [] };
  const sent = new Set<string>();
  const push = make(clock, async (batch) => {
    outcome.sends++;
    for (const state of batch) {
      if (state.urgent && !sent.has(`${state.id} ${state.status}`)) {
        sent.add(`${state.id} ${state.status}`);
        outcome.urgentWaits.push(clock.monotonic() - state.at);
      }
    }
    await new Promise<void>((resolve) => clock.setTimeout(resolve, RPC_MS));
  });
  for (const state of lives) {
    await clock.advance(Math.max(0, state.at - clock.monotonic()));
    push(state);
  }
  await clock.advance(5000);
  if (outcome.urgentWaits.length !== 2 * LIVES) throw new Error(`${outcome.urgentWaits.length} urgent states arrived`);
  return outcome;
}

/** Latest state of each allocation, sent every 200 ms when there is any. */
const naive = await run((clock, send) => {
  let buffer = new Map<string, State>();
  const tick = async () => {
    const batch = [...buffer.values()];
    buffer = new Map();
    if (batch.length > 0) await send(batch);
    clock.setTimeout(() => void tick(), TICK_MS);
  };
  clock.setTimeout(() => void tick(), TICK_MS);
  return (state) => void buffer.set(state.id, state);
});
const ours = await run((clock, send) => {
  const sync = createAllocSync<State, State>({
    clock,
    send: (batch) => send(batch),
    id: (state) => state.id,
    toAck: (state) => state,
    priority: (state, ack) => {
      if (ack === undefined) return "typical";
      if (state.status !== ack.status) return "urgent";
      return state.health === ack.health && state.events === ack.events ? "none" : "typical";
    },
  });
  sync.start(new AbortController().signal);
  return (state) => sync.push(state);
});

const row = (name: string, mine: number, peer: string | null, theirs: number | null, unit: string, goal: string) =>
  console.log(
    JSON.stringify({
      package: "alloc-sync",
      case: name,
      ours: mine,
      peer,
      theirs,
      unit,
      ratio: theirs === null ? null : mine / theirs,
      goal,
    }),
  );
const p99 = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)]!;
const peer = "batching every 200 ms";
row(`calls for ${LIVES} lives (${lives.length} updates in an hour)`, ours.sends, peer, naive.sends, "calls", "≤ 0.4×");
row(
  "wait of an urgent update, 99th percentile",
  p99(ours.urgentWaits),
  peer,
  p99(naive.urgentWaits),
  "ms of clock time",
  "≤ 250 ms",
);

const PUSHES = 2_000_000;
const bare = createAllocSync<State, State>({
  send: async () => undefined,
  id: (state) => state.id,
  toAck: (state) => state,
  priority: () => "typical",
});
const states = lives.slice(0, 10_000);
const start = performance.now();
for (let i = 0; i < PUSHES; i++) bare.push(states[i % states.length]!);
row("pushes", PUSHES / ((performance.now() - start) / 1000), null, null, "pushes/s", "≥ 1,000,000/s");
