import { expect, it } from "vitest";
import { childSignal } from "../src/child-signal.ts";

it("aborts with its parent, for the same reason", () => {
  const parent = new AbortController();
  const child = childSignal(parent.signal);
  const reason = new Error("stop");
  parent.abort(reason);
  expect(child.signal.reason).toBe(reason);
  expect(childSignal(parent.signal).signal.reason).toBe(reason);
});

it("ends alone", () => {
  const parent = new AbortController();
  const child = childSignal(parent.signal);
  child.end();
  expect(child.signal.aborted).toBe(true);
  const { reason } = child.signal;
  parent.abort();
  expect(child.signal.reason).toBe(reason);
});
