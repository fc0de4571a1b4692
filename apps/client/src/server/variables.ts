import type { VariableSource } from "../task/template/variable-source.ts";
import { serverError } from "./server-error.ts";
import type { StateKeeper } from "./state-keeper.ts";
import { variableKey, type Variable } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** Keys and values of one variable together, bytes; as in Nomad. */
export const MAX_VARIABLE_BYTES = 65_536;
const PATH = /^[A-Za-z0-9_~/-]{1,128}$/;

/** What a variable is to become. */
export interface VariableWrite {
  readonly namespace: string;
  readonly path: string;
  readonly items: Readonly<Record<string, string>>;
  /** Only if its index is this one; 0: only if there is none. */
  readonly cas?: number | undefined;
}

/** A change that was made, or the variable that stood in its way (undefined: there is none). */
export type VariableChange =
  | { readonly kind: "done"; readonly variable: Variable | undefined; readonly index: number }
  | { readonly kind: "conflict"; readonly variable: Variable | undefined };

/** Creates or replaces a variable. Throws ERR_OUTRIDER_SERVER_UNSUPPORTED for a wrong path, no items or too many. */
export function putVariable(tx: Tx, o: VariableWrite): VariableChange {
  checkWrite(o);
  const key = variableKey(o.namespace, o.path);
  const before = tx.variables.get(key);
  if (o.cas !== undefined && o.cas !== (before?.ModifyIndex ?? 0)) return { kind: "conflict", variable: before };
  const variable: Variable = {
    Namespace: o.namespace,
    Path: o.path,
    Lock: null,
    CreateIndex: before?.CreateIndex ?? tx.index,
    CreateTime: before?.CreateTime ?? tx.nowNs,
    ModifyIndex: tx.index,
    ModifyTime: tx.nowNs,
    Items: { ...o.items },
  };
  tx.variables.put(key, variable);
  return { kind: "done", variable, index: tx.index };
}

/** Deletes a variable; one that is not there is as good as deleted. */
export function deleteVariable(tx: Tx, o: Omit<VariableWrite, "items">): VariableChange {
  const key = variableKey(o.namespace, o.path);
  const before = tx.variables.get(key);
  if (o.cas !== undefined && o.cas !== (before?.ModifyIndex ?? 0)) return { kind: "conflict", variable: before };
  if (before !== undefined) tx.variables.delete(key);
  return { kind: "done", variable: undefined, index: tx.index };
}

function checkWrite(o: VariableWrite): void {
  const bad = (message: string): Error =>
    serverError("ERR_OUTRIDER_SERVER_UNSUPPORTED", message, { path: o.path.slice(0, 200) });
  if (!PATH.test(o.path))
    throw bad(`invalid path ${JSON.stringify(o.path.slice(0, 200))}: 1 to 128 letters, digits, -, _, ~ and /`);
  const [top, second] = o.path.split("/");
  if (top === "nomad" && second !== "jobs" && second !== "job-templates") {
    throw bad(
      'only paths at "nomad/jobs" or "nomad/job-templates" and below are valid paths under the top-level "nomad" directory',
    );
  }
  const entries = Object.entries(o.items);
  if (entries.length === 0) throw bad("variable missing required Items object");
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (bytes > MAX_VARIABLE_BYTES)
    throw bad(`variables are limited to 64KiB in total size, this one has ${bytes} bytes`);
}

/** The server's variables as templates read them. */
export function variableSource(state: StateKeeper): VariableSource {
  return {
    get: (namespace, path) => state.tables.variables.get(variableKey(namespace, path))?.Items,
    onChange(listener) {
      const stop = new AbortController();
      void follow(state, listener, stop.signal);
      return { [Symbol.dispose]: () => stop.abort() };
    },
  };
}

async function follow(state: StateKeeper, listener: () => void, signal: AbortSignal): Promise<void> {
  let next = state.feed.next(["variables"], signal);
  while (await next) {
    // Before the listener looks, so that no change falls in between.
    next = state.feed.next(["variables"], signal);
    if (!signal.aborted) listener();
  }
}
