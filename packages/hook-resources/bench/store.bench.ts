// Reading a shared value safely, against a getter that gives a structuredClone; and updates in a row.
import { createHookResources } from "../src/index.ts";

const ROUNDS = 7;
const mounts = () =>
  Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      `volume-${i}`,
      { source: `/srv/${i}`, options: ["ro", "noexec"], device: { id: i } },
    ]),
  );

function median(calls: number, run: () => unknown): number {
  for (let i = 0; i < calls / 4; i++) run();
  const all = Array.from({ length: ROUNDS }, () => {
    const start = process.hrtime.bigint();
    for (let i = 0; i < calls; i++) run();
    return Number(process.hrtime.bigint() - start) / calls;
  });
  return all.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
}
const row = (name: string, ours: number, theirs: number, goal: string) =>
  console.log(
    JSON.stringify({
      package: "hook-resources",
      case: name,
      ours,
      peer: `structuredClone (node ${process.versions.node})`,
      theirs,
      unit: "ns/op",
      ratio: ours / theirs,
      goal,
    }),
  );

const value = mounts();
const store = createHookResources({ mounts: value, tokens: new Map(Object.entries(value)) });
row(
  "get of 20 mounts (objects)",
  median(200_000, () => store.get("mounts")),
  median(5000, () => structuredClone(value)),
  "≤ 0.05×",
);
const tokens = new Map(Object.entries(value));
row(
  "get of 20 mounts (a Map)",
  median(5000, () => store.get("tokens")),
  median(5000, () => structuredClone(tokens)),
  "≤ 1×",
);
let n = 0;
row(
  "set of one changed mount of 20",
  median(20_000, () =>
    store.set("mounts", {
      ...store.get("mounts"),
      "volume-0": { source: String(n++), options: [], device: { id: 0 } },
    }),
  ),
  median(5000, () => structuredClone(value)),
  "≤ 1×",
);
