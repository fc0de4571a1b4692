import { describe, expect, it } from "vitest";
import { DisposeStack, isOutriderError, noopLogger, OutriderError } from "../src/index.ts";

describe("OutriderError", () => {
  it("carries code, cause, details and the recoverable flag", () => {
    const cause = new Error("disk");
    const error = new OutriderError("ERR_OUTRIDER_TEST_FULL", "write journal: disk is full", {
      cause,
      recoverable: true,
      details: { field: "path" },
    });
    expect(error).toMatchObject({ name: "OutriderError", code: "ERR_OUTRIDER_TEST_FULL", recoverable: true, cause });
    expect(error.details).toEqual({ field: "path" });
    const bare = new OutriderError("ERR_OUTRIDER_TEST_X", "x");
    expect(bare).toMatchObject({ recoverable: false, details: {} });
    expect("cause" in bare).toBe(false);
  });

  it("is recognised by its brand, also from another copy of the package", () => {
    const foreign = Object.assign(new Error("x"), {
      [Symbol.for("outrider.error")]: true,
      code: "local",
      recoverable: true,
    });
    expect(isOutriderError(foreign)).toBe(true);
    expect(isOutriderError(foreign, "local")).toBe(true);
    expect(isOutriderError(foreign, "other")).toBe(false);
    for (const not of [new Error("x"), null, undefined, "text", {}]) expect(isOutriderError(not)).toBe(false);
  });

  it("normalises foreign failures once and leaves its own untouched", () => {
    const own = new OutriderError("ERR_OUTRIDER_TEST_A", "a");
    expect(OutriderError.from(own, "ERR_OUTRIDER_TEST_B")).toBe(own);
    const foreign = new TypeError("bad");
    expect(OutriderError.from(foreign, "ERR_OUTRIDER_TEST_B", "read file")).toMatchObject({
      code: "ERR_OUTRIDER_TEST_B",
      message: "read file: bad",
      cause: foreign,
    });
    expect(OutriderError.from("plain", "ERR_OUTRIDER_TEST_B").message).toBe("plain");
  });
});

describe("DisposeStack", () => {
  it("releases in reverse order, once, and waits for asynchronous ends", async () => {
    const seen: string[] = [];
    const stack = new DisposeStack();
    stack.use({ [Symbol.dispose]: () => void seen.push("sync") });
    stack.use({
      [Symbol.asyncDispose]: async () => {
        await Promise.resolve();
        seen.push("async");
      },
    });
    expect(stack.adopt(7, (n) => seen.push(`seven ${n}`))).toBe(7);
    await Promise.all([stack[Symbol.asyncDispose](), stack[Symbol.asyncDispose]()]);
    expect(seen).toEqual(["seven 7", "async", "sync"]);
    expect(() => stack.defer(() => undefined)).toThrow(/disposed/);
  });

  it("tries every release and joins the failures", async () => {
    const one = new DisposeStack();
    one.defer(() => {
      throw new Error("only");
    });
    await expect(one[Symbol.asyncDispose]()).rejects.toThrow("only");
    const two = new DisposeStack();
    let last = false;
    two.defer(() => void (last = true));
    two.defer(() => Promise.reject(new Error("a")));
    two.defer(() => Promise.reject(new Error("b")));
    await expect(two[Symbol.asyncDispose]()).rejects.toBeInstanceOf(AggregateError);
    expect(last).toBe(true);
  });

  it("says how many releases failed, and keeps their reasons in the order of release", async () => {
    const stack = new DisposeStack();
    const [a, b] = [new Error("a"), new Error("b")];
    stack.defer(() => Promise.reject(b));
    stack.defer(() => Promise.reject(a));
    const failed = await stack[Symbol.asyncDispose]().catch((reason: unknown) => reason as AggregateError);
    expect(failed).toMatchObject({ message: "dispose stack: 2 releases failed", errors: [a, b] });
  });
});

describe("noopLogger", () => {
  it("takes every call and gives itself as child", () => {
    for (const level of ["trace", "debug", "info", "warn", "error"] as const) {
      expect(noopLogger[level]("x")).toBeUndefined();
      expect(noopLogger[level]({ a: 1 }, "x")).toBeUndefined();
    }
    expect(noopLogger.child({ a: 1 })).toBe(noopLogger);
  });
});
