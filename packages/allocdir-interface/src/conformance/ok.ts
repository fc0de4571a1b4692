import assert from "node:assert/strict";

/** Fails with the message. Not `assert.ok`, which looks its own call up in the source: for minutes, where that is one long line. */
export function ok(value: unknown, message = "what the title promises does not hold"): asserts value {
  if (!value) assert.fail(message);
}
