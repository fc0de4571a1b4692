import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createHookResources, type HookResourcesError, MAX_DEPTH, MAX_UPDATE_RUNS } from "../src/index.ts";

const messageOf = (fn: () => unknown): string => {
  try {
    fn();
  } catch (e) {
    return (e as HookResourcesError).message;
  }
  throw new Error("did not throw");
};

describe("copies", () => {
  it("an object that holds a map below something closed is copied for every reader", () => {
    const store = createHookResources({ any: { map: new Map([["a", 1]]), n: 1, list: [1] } });
    const first = store.get("any");
    Map.prototype.clear.call(first.map);
    expect(store.get("any")).not.toBe(first);
    expect(store.get("any").map.get("a")).toBe(1);
  });

  it("a key __proto__ stays visible to whoever lists the keys, and no other key is hidden", () => {
    const store = createHookResources({ any: JSON.parse('{"a":1,"__proto__":2}') as object });
    const got = store.get("any");
    expect(Object.keys(got)).toEqual(["a", "__proto__"]);
    expect(JSON.stringify(got)).toBe('{"a":1,"__proto__":2}');
  });

  it("an array of holes keeps its length, and an object keeps its prototype", () => {
    const holes: unknown[] = [];
    holes.length = 3;
    const store = createHookResources({ holes, plain: { a: {} } });
    expect(store.get("holes")).toHaveLength(3);
    expect(Object.getPrototypeOf(store.get("plain").a)).toBe(Object.prototype);
  });

  it("an object whose prototype is a bare object is not plain, whatever that holds", () => {
    const store = createHookResources({ any: {} });
    const odd = Object.create(Object.create(null) as object) as object;
    expect(messageOf(() => store.set("any", odd))).toContain("an instance of a nameless class");
    class Sly {
      isPrototypeOf(): boolean {
        return true;
      }
    }
    expect(messageOf(() => store.set("any", new (class extends Sly {})()))).toContain("an instance of");
    expect(messageOf(() => store.set("any", new Sly()))).toContain("an instance of Sly");
  });
});

describe("messages say what is wrong", () => {
  it("with the key, the value's place and the limit", async () => {
    const store = createHookResources({ any: {} as unknown, kept: { a: 1 }, none: null as unknown, count: 0 });
    let tree: object = {};
    for (let i = 0; i <= MAX_DEPTH + 1; i++) tree = { tree };
    expect(messageOf(() => store.set("any", tree))).toContain(`nested deeper than ${MAX_DEPTH} levels`);
    expect(messageOf(() => store.extend({ any: 1 }))).toContain("exists already");
    expect(messageOf(() => store.set("kept", undefined as never))).toContain("must not become undefined");
    const busy = store.update("count", (n) => {
      store.set("count", n + 1);
      return n;
    });
    await expect(busy).rejects.toThrow(`written by others during each of ${MAX_UPDATE_RUNS} runs`);
  });

  it("a value that began as null may become undefined", () => {
    const store = createHookResources({ none: null as unknown });
    store.set("none", undefined);
    expect(store.get("none")).toBeUndefined();
  });
});

describe("one signal for several updates", () => {
  it("keeps its listener until the last of them has ended, also across stores", async () => {
    const { signal } = new AbortController();
    const [one, other] = [createHookResources({ n: 0 }), createHookResources({ n: 0 })];
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const slow = one.update("n", () => gate.then(() => 5), { signal });
    await other.update("n", () => Promise.resolve(1), { signal });
    for (let i = 0; i < 10; i++) await Promise.resolve();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    release();
    expect(await slow).toBe(5);
    for (let i = 0; i < 10; i++) await Promise.resolve();
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("still stops the slow one after the quick one has ended", async () => {
    const stop = new AbortController();
    const store = createHookResources({ slow: 0, quick: 0 });
    const slow = store.update("slow", () => new Promise<number>(() => undefined), { signal: stop.signal });
    await store.update("quick", () => Promise.resolve(1), { signal: stop.signal });
    for (let i = 0; i < 10; i++) await Promise.resolve();
    stop.abort(new Error("end"));
    await expect(slow).rejects.toThrow("end");
  });
});

describe("updates that wait", () => {
  it("one that starts when the line has emptied runs at once", async () => {
    const store = createHookResources({ n: 0 });
    await store.update("n", (n) => Promise.resolve(n + 1));
    for (let i = 0; i < 10; i++) await Promise.resolve();
    const again = store.update("n", (n) => n + 1);
    expect(store.get("n")).toBe(2);
    expect(await again).toBe(2);
  });

  it("one that starts while the first has ended but the second runs still waits", async () => {
    const store = createHookResources({ n: 0 });
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const first = store.update("n", () => Promise.resolve(1));
    const second = store.update("n", (n) => gate.then(() => n + 10));
    await first;
    for (let i = 0; i < 10; i++) await Promise.resolve();
    const order: number[] = [];
    const third = store.update("n", (n) => {
      order.push(n);
      return n + 100;
    });
    expect(order).toEqual([]);
    release();
    expect(await second).toBe(11);
    expect(await third).toBe(111);
  });
});
