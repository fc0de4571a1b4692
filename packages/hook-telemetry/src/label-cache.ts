import type { Labels } from "./metrics-sink.ts";

/** Beyond this many hook names the cache starts anew, so that generated names cannot grow it for ever. */
const MAX_CACHED = 1024;

/** Makes the full label set of a hook, frozen and identical while the base labels stay the same. @internal */
export class LabelCache {
  readonly #byHook = new Map<string, { readonly base: Labels; readonly full: Labels }>();

  get(base: Readonly<Record<string, string>>, hookName: string): Labels {
    const known = this.#byHook.get(hookName);
    if (known !== undefined && sameLabels(known.base, base)) return known.full;
    if (this.#byHook.size >= MAX_CACHED) this.#byHook.clear();
    const entry = { base: { ...base }, full: withHook(base, hookName) };
    this.#byHook.set(hookName, entry);
    return entry.full;
  }
}

function sameLabels(a: Labels, b: Labels): boolean {
  let count = 0;
  for (const name in a) {
    if (a[name] !== b[name]) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
}

// Order matters to StatsD, which shows values only: hook_name comes after the base labels, host after hook_name.
function withHook(base: Labels, hookName: string): Labels {
  const { host, ...rest } = base;
  const full: Record<string, string> = { ...rest, hook_name: hookName };
  if (host !== undefined) full.host = host;
  return Object.freeze(full);
}
