import { getEventListeners } from "node:events";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { createHookResources, type HookResourcesError, MAX_DEPTH, MAX_UPDATE_RUNS } from "../src/index.ts";

interface Mount {
  source: string;
  options: string[];
}
const make = () =>
  createHookResources({
    mounts: {} as Record<string, Mount>,
    tokens: new Map<string, Map<string, string>>(),
    ids: new Set<string>(),
    network: undefined as { ip: string } | undefined,
    at: new Date(0),
    seed: Uint8Array.of(1, 2, 3),
    count: 0,
  });

const error = (fn: () => unknown): HookResourcesError => {
  try {
    fn();
  } catch (e) {
    return e as HookResourcesError;
  }
  throw new Error("did not throw");
};
const turns = async (n: number) => {
  for (let i = 0; i < n; i++) await Promise.resolve();
};

describe("get and set", () => {
  it("a reader cannot change what is stored, at any depth", () => {
    const store = make();
    store.set("mounts", { data: { source: "/srv", options: ["ro"] } });
    const mounts = store.get("mounts") as Record<string, Mount>;
    expect(() => (mounts.other = { source: "", options: [] })).toThrow(TypeError);
    expect(() => mounts.data!.options.push("rw")).toThrow(TypeError);
    expect(store.get("mounts")).toEqual({ data: { source: "/srv", options: ["ro"] } });
  });

  it("a map given out is never the live one (upstream's Consul tokens getter gives the live map)", () => {
    const store = make();
    store.set("tokens", new Map([["default", new Map([["service", "secret"]])]]));
    const tokens = store.get("tokens") as Map<string, Map<string, string>>;
    expect(() => tokens.set("x", new Map())).toThrow("cannot change a frozen map or set");
    expect(() => tokens.get("default")!.clear()).toThrow(TypeError);
    expect(() => tokens.delete("default")).toThrow(TypeError);
    // Even the bare prototype method changes only this copy.
    Map.prototype.clear.call(tokens);
    expect(store.get("tokens").get("default")?.get("service")).toBe("secret");
  });

  it("sets, dates and bytes given out are copies", () => {
    const store = make();
    store.set("ids", new Set(["a"]));
    const ids = store.get("ids") as Set<string>;
    expect(() => ids.add("b")).toThrow("cannot change a frozen map or set");
    expect(() => ids.delete("a")).toThrow(TypeError);
    expect(() => ids.clear()).toThrow(TypeError);
    (store.get("at") as Date).setTime(5);
    (store.get("seed") as Uint8Array)[0] = 9;
    expect(store.snapshot()).toMatchObject({ ids: new Set(["a"]), at: new Date(0), seed: Uint8Array.of(1, 2, 3) });
  });

  it("a setter copies its input, so later changes of the caller's object do not reach the store", () => {
    const store = make();
    const mine: Record<string, Mount> = { data: { source: "/srv", options: [] } };
    store.set("mounts", mine);
    mine.data!.options.push("rw");
    mine.more = { source: "", options: [] };
    expect(store.get("mounts")).toEqual({ data: { source: "/srv", options: [] } });
    expect(Object.isFrozen(mine)).toBe(false);
  });

  it("the initial value is copied too", () => {
    const initial = { list: [1] };
    const store = createHookResources(initial);
    initial.list.push(2);
    expect(store.get("list")).toEqual([1]);
  });

  it("a value that holds only objects and arrays is shared between readers instead of copied again", () => {
    const store = make();
    store.set("mounts", { data: { source: "/srv", options: [] } });
    expect(store.get("mounts")).toBe(store.get("mounts"));
    store.set("mounts", { ...store.get("mounts"), more: { source: "/x", options: [] } });
    expect(Object.keys(store.get("mounts"))).toEqual(["data", "more"]);
  });

  it("keeps cycles, shared parts, holes' length, symbol keys, bare objects and a key named __proto__", () => {
    const shared = { n: 1 };
    const tag = Symbol("tag");
    const odd = Object.create(null) as Record<PropertyKey, unknown>;
    odd[tag] = 1;
    Object.defineProperty(odd, "hidden", { value: 1, enumerable: false });
    const cycle: Record<string, unknown> = { a: shared, b: shared, odd };
    cycle.self = cycle;
    const evil = JSON.parse('{"__proto__":{"polluted":true}}') as object;
    const store = createHookResources({ any: { cycle, evil, big: 2n, nothing: null, list: [1, undefined] } as any });
    const got = store.get("any");
    expect(got.cycle.self).toBe(got.cycle);
    expect(got.cycle.a).toBe(got.cycle.b);
    expect(Object.getPrototypeOf(got.cycle.odd)).toBeNull();
    expect(got.cycle.odd[tag]).toBe(1);
    expect("hidden" in got.cycle.odd).toBe(false);
    expect(Object.hasOwn(got.evil, "__proto__")).toBe(true);
    expect(got.evil.polluted).toBeUndefined();
    expect(got.list).toHaveLength(2);
  });

  it("keeps a cycle through a map, and the slice that a Buffer shows", () => {
    const map = new Map<string, unknown>();
    map.set("self", map);
    const set = new Set<unknown>();
    set.add(set);
    const store = createHookResources({
      map: map as Map<string, any>,
      set,
      view: Buffer.from("hello").subarray(1, 3) as Uint8Array,
      words: Uint16Array.of(1, 2),
      raw: new ArrayBuffer(2),
    });
    const got = store.get("map");
    expect(got.get("self")).toBe(got);
    const gotSet = store.get("set");
    expect(gotSet.has(gotSet)).toBe(true);
    expect([...store.get("view")]).toEqual([101, 108]);
    expect(store.get("view").buffer.byteLength).toBe(2);
    expect(store.get("words")).toEqual(Uint16Array.of(1, 2));
    expect(store.get("raw").byteLength).toBe(2);
  });

  it("objects of another realm count as plain objects", async () => {
    const { runInNewContext } = await import("node:vm");
    const store = createHookResources({ any: runInNewContext("({a:[1]})") as { a: number[] } });
    expect(store.get("any")).toEqual({ a: [1] });
  });
});

describe("refusals leave the store as it was", () => {
  class Session {}
  const nameless = new (class {})();
  Object.defineProperty(nameless, "constructor", { value: undefined });
  const cases: Array<[string, unknown, string, string]> = [
    ["a function", { a: [() => 1] }, "mounts.a.0", "holds a function"],
    ["a symbol", { a: Symbol("x") }, "mounts.a", "holds a symbol"],
    ["a class instance", { a: new Session() }, "mounts.a", "an instance of Session"],
    ["an anonymous class instance", { a: new (class {})() }, "mounts.a", "an instance of a nameless class"],
    ["an object that hides its class", { a: nameless }, "mounts.a", "an instance of a nameless class"],
    ["a promise", new Map([["k", Promise.resolve()]]), "mounts.k", "an instance of Promise"],
    ["a function below an object key", new Map([[{ a: 1 }, [() => 1]]]), "mounts.{…}.0", "holds a function"],
    ["a function in a set", new Set([() => 1]), "mounts.{…}", "holds a function"],
    ["a function itself", () => 1, "mounts", "holds a function"],
  ];
  it.each(cases)("%s has no frozen copy", (_name, value, path, text) => {
    const store = make();
    const e = error(() => store.set("mounts", value as never));
    expect(e).toMatchObject({
      name: "HookResourcesError",
      code: "UNCOPYABLE",
      key: "mounts",
      path,
      recoverable: false,
    });
    expect(e.message).toContain(text);
    expect((e as unknown as Record<symbol, unknown>)[Symbol.for("outrider.error")]).toBe(true);
    expect(store.get("mounts")).toEqual({});
  });

  it("a tree deeper than the limit is refused instead of overflowing the stack", () => {
    const store = make();
    let tree: object = {};
    for (let i = 0; i < MAX_DEPTH; i++) tree = { tree };
    store.set("mounts", tree as never);
    for (let i = 0; i < 100_000; i++) tree = { tree };
    expect(error(() => store.set("mounts", tree as never))).toMatchObject({ code: "TOO_DEEP", key: "mounts" });
  });

  it("an unknown key names the known ones, in every method", async () => {
    const store = createHookResources({ a: 1, b: 2 }) as any;
    for (const fn of [() => store.get("c"), () => store.set("c", 1), () => store.onChange("toString", () => 1)]) {
      expect(error(fn)).toMatchObject({ code: "UNKNOWN_KEY", message: expect.stringContaining("known: a, b") });
    }
    await expect(store.update("c", () => 1)).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
  });

  it("a value that began as an object never becomes undefined; one that began empty may", () => {
    const store = make();
    expect(error(() => store.set("mounts", undefined as never))).toMatchObject({ code: "UNDEFINED" });
    store.set("network", { ip: "::1" });
    store.set("network", undefined);
    expect(store.get("network")).toBeUndefined();
  });
});

describe("extend", () => {
  it("adds kinds of third parties, and none when one of them is refused", () => {
    const store = make();
    const wider = store.extend({ gpu: { uuid: "" } });
    wider.set("gpu", { uuid: "x" });
    expect(wider.get("gpu").uuid).toBe("x");
    expect(wider).toBe(store);
    expect(error(() => store.extend({ fresh: 1, count: 2 }))).toMatchObject({ code: "DUPLICATE_KEY", key: "count" });
    expect(error(() => (store as any).get("fresh"))).toMatchObject({ code: "UNKNOWN_KEY" });
  });
});

describe("update", () => {
  it("loses no writer (hashicorp/nomad#16623: read, change, write back lost one)", async () => {
    const store = make();
    const slow = store.update("mounts", async (prev) => {
      await turns(5);
      return { ...prev, slow: { source: "1", options: [] } };
    });
    const quick = store.update("mounts", (prev) => ({ ...prev, quick: { source: "2", options: [] } }));
    store.set("mounts", { ...store.get("mounts"), setter: { source: "3", options: [] } });
    expect(Object.keys(await slow)).toEqual(["setter", "slow"]);
    expect(Object.keys(await quick)).toEqual(["setter", "slow", "quick"]);
    expect(store.get("mounts")).toEqual(await quick);
  });

  it("runs at once when nothing waits, and gives a frozen value", async () => {
    const store = make();
    const done = store.update("count", (n) => n + 1);
    expect(store.get("count")).toBe(1);
    expect(await done).toBe(1);
    expect(Object.isFrozen(await store.update("mounts", (m) => ({ ...m })))).toBe(true);
  });

  it("keys do not wait for each other", async () => {
    const store = make();
    const never = new AbortController();
    const stuck = store.update("mounts", () => new Promise<never>(() => undefined), { signal: never.signal });
    expect(await store.update("count", (n) => n + 1)).toBe(1);
    never.abort(new Error("end"));
    await expect(stuck).rejects.toThrow("end");
  });

  it("a failing update leaves the value alone and lets the next one run", async () => {
    const store = make();
    const bad = store.update("count", () => {
      throw new Error("no");
    });
    const rejected = store.update("count", () => Promise.reject(new Error("later no")));
    const good = store.update("count", (n) => n + 1);
    await expect(bad).rejects.toThrow("no");
    await expect(rejected).rejects.toThrow("later no");
    expect(await good).toBe(1);
  });

  it("refuses an undefined or uncopyable result like a setter does", async () => {
    const store = make();
    await expect(store.update("mounts", () => undefined as never)).rejects.toMatchObject({ code: "UNDEFINED" });
    await expect(store.update("mounts", () => (() => 1) as never)).rejects.toMatchObject({ code: "UNCOPYABLE" });
    expect(store.get("mounts")).toEqual({});
  });

  it("gives up as recoverable when others write during every run", async () => {
    const store = make();
    let runs = 0;
    const busy = store.update("count", (n) => {
      runs++;
      store.set("count", n + 1);
      return -1;
    });
    await expect(busy).rejects.toMatchObject({ code: "CONTENDED", recoverable: true, key: "count" });
    expect(runs).toBe(MAX_UPDATE_RUNS);
    expect(store.get("count")).toBe(MAX_UPDATE_RUNS);
  });

  it("an abort rejects with its reason at once and discards what was running; the next one runs", async () => {
    const store = make();
    const stop = new AbortController();
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const running = store.update("count", () => gate.then(() => 100), { signal: stop.signal });
    const waiting = store.update("count", () => 200, { signal: stop.signal });
    const next = store.update("count", (n) => n + 1);
    const reason = new Error("stop");
    stop.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(await next).toBe(1);
    release();
    await turns(10);
    expect(store.get("count")).toBe(1);
    await expect(store.update("count", () => 5, { signal: stop.signal })).rejects.toBe(reason);
  });

  it("a cancelled waiter does not let the one behind it in before its turn", async () => {
    const store = make();
    const stop = new AbortController();
    const order: string[] = [];
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const first = store.update("count", async (n) => {
      await gate;
      order.push("first");
      return n + 1;
    });
    const cancelled = store.update("count", () => 50, { signal: stop.signal });
    const last = store.update("count", (n) => {
      order.push("last");
      return n + 1;
    });
    stop.abort();
    await expect(cancelled).rejects.toBe(stop.signal.reason);
    await turns(10);
    expect(order).toEqual([]);
    release();
    await first;
    expect(await last).toBe(2);
    expect(order).toEqual(["first", "last"]);
  });

  it("many waiters share one listener on a signal and leave none behind", async () => {
    const store = make();
    const { signal } = new AbortController();
    const all = Array.from({ length: 50 }, () => store.update("count", async (n) => n + 1, { signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await Promise.all(all);
    await turns(3);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(store.get("count")).toBe(50);
  });
});

describe("onChange", () => {
  it("tells value and previous, synchronously, until disposed; writing the stored value is no change", () => {
    const store = make();
    const seen: Array<[number, number]> = [];
    const subscription = store.onChange("count", (value, previous) => seen.push([value, previous]));
    store.set("count", 1);
    store.set("count", 1);
    store.set("mounts", store.get("mounts"));
    store.set("count", 2);
    subscription[Symbol.dispose]();
    store.set("count", 3);
    expect(seen).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });

  it("listeners see changes in the order in which they happened, also when one of them writes", () => {
    const store = make();
    const seen: number[] = [];
    store.onChange("count", (value) => {
      if (value === 1) store.set("count", 2);
    });
    store.onChange("count", (value) => seen.push(value));
    store.set("count", 1);
    expect(seen).toEqual([1, 2]);
  });

  it("a listener added by a listener hears later changes only, a removed one nothing more", () => {
    const store = make();
    const seen: string[] = [];
    const later: { second?: Disposable } = {};
    store.onChange("count", (value) => {
      if (value === 1) store.onChange("count", (v) => seen.push(`late ${v}`));
      if (value === 2) later.second![Symbol.dispose]();
    });
    later.second = store.onChange("count", (v) => seen.push(`second ${v}`));
    store.set("count", 1);
    store.set("count", 2);
    expect(seen).toEqual(["second 1", "late 2"]);
  });

  it("one listener cannot change what another one or the store sees", () => {
    const store = make();
    const seen: number[] = [];
    store.onChange("at", (at) => (at as Date).setTime(99));
    store.onChange("at", (at) => seen.push(at.getTime()));
    store.set("at", new Date(7));
    expect(seen).toEqual([7]);
    expect(store.get("at").getTime()).toBe(7);
  });

  it("a throwing listener stops neither the write nor the others, and is reported", () => {
    const reported: unknown[] = [];
    const store = createHookResources(
      { n: 0 },
      { onListenerError: (e, key) => reported.push([key, (e as Error).message]) },
    );
    const seen: number[] = [];
    store.onChange("n", () => {
      throw new Error("broken");
    });
    store.onChange("n", (n) => seen.push(n));
    store.set("n", 1);
    expect(seen).toEqual([1]);
    expect(reported).toEqual([["n", "broken"]]);
  });

  it("without a reporter it is a process warning; a throwing reporter is silenced", () => {
    const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const store = createHookResources({ n: 0 });
    store.onChange("n", () => {
      throw new Error("broken");
    });
    store.onChange("n", () => {
      throw "plain";
    });
    store.set("n", 1);
    expect(warning.mock.calls.map(([text]) => text)).toEqual([
      'a change listener of hook resource "n" threw: Error: broken',
      'a change listener of hook resource "n" threw: plain',
    ]);
    warning.mockRestore();
    const hard = createHookResources(
      { n: 0 },
      {
        onListenerError: () => {
          throw new Error("worse");
        },
      },
    );
    hard.onChange("n", () => {
      throw new Error("broken");
    });
    hard.set("n", 1);
    expect(hard.get("n")).toBe(1);
  });
});

describe("snapshot and types", () => {
  it("is one frozen instant of all keys", () => {
    const store = make();
    const before = store.snapshot();
    store.set("count", 7);
    expect(before.count).toBe(0);
    expect(Object.isFrozen(before)).toBe(true);
    expect(Object.keys(before)).toEqual(["mounts", "tokens", "ids", "network", "at", "seed", "count"]);
  });

  it("gives read-only types", () => {
    const store = make();
    expectTypeOf(store.get("tokens")).toEqualTypeOf<ReadonlyMap<string, ReadonlyMap<string, string>>>();
    expectTypeOf(store.get("count")).toEqualTypeOf<number>();
    expectTypeOf(store.get("mounts").x).toEqualTypeOf<
      { readonly source: string; readonly options: readonly string[] } | undefined
    >();
  });
});
