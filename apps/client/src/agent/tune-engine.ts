import { setFlagsFromString } from "node:v8";

/** Releases whose V8 has the flag; another one would complain about it. */
const KNOWN = /^(20|22|24)\./;

/**
 * Makes V8 wait four times as long before it optimizes a function. An agent works in short bursts: most of what is optimized after the first
 * calls runs a few hundred times more, which costs less than the compiling of it. Functions that are hot for long are optimized all the same.
 */
export function tuneEngine(): void {
  if (!KNOWN.test(process.versions.node)) return;
  setFlagsFromString("--interrupt-budget=600000");
  // Room for young objects at once instead of by doubling: a burst of starts is over before it had grown.
  setFlagsFromString("--semi-space-growth-factor=16");
  // The agent's code, which is loaded next, is compiled now (some 40 ms, 3 MB) and not in the middle of the first starts.
  setFlagsFromString("--no-lazy");
}
