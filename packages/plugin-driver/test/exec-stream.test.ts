/** One exec at the plugin's side: what the driver gets of the host's messages, and the frames that the host gets. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { DriverPlugin, ExecInput, ExecOutput, ExecRequest } from "../src/index.ts";
import {
  type ExecTaskStreamingRequest,
  ExecTaskStreamingRequestSchema,
  type ExecTaskStreamingResponse,
} from "../src/gen/driver_pb.js";
import { runExec } from "../src/serve/exec-stream.ts";
import { EXITED, MemoryDriver } from "./support/memory-driver.ts";

type Init = MessageInitShape<typeof ExecTaskStreamingRequestSchema>;
const text = (s: string): Uint8Array => new TextEncoder().encode(s);
const SETUP: Init = { setup: { taskId: "t", command: ["a", "b"], tty: true } };

interface Run {
  readonly work: Promise<void>;
  /** Frames as short texts, such as `out:abc`, `err!` for a close, `exit 3`. */
  readonly frames: string[];
  readonly inputs: ExecInput[];
  readonly asked: [taskId: string, request: ExecRequest][];
  /** How often the host's messages were let go. */
  returned: number;
}

function exec(
  messages: readonly Init[],
  output: (input: AsyncIterable<ExecInput>, seen: ExecInput[]) => AsyncIterable<ExecOutput>,
  signal: AbortSignal = new AbortController().signal,
): Run {
  const run: Run = { work: undefined as never, frames: [], inputs: [], asked: [], returned: 0 };
  const driver: DriverPlugin = new MemoryDriver();
  driver.execTaskStreaming = (taskId, request, input) => {
    run.asked.push([taskId, request]);
    return output(input, run.inputs);
  };
  const rest = messages.map((init) => create(ExecTaskStreamingRequestSchema, init));
  const requests: AsyncIterable<ExecTaskStreamingRequest> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const value = rest.shift();
        return Promise.resolve(value === undefined ? { done: true, value: undefined } : { done: false, value });
      },
      return: () => {
        run.returned++;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  const write = (message: ExecTaskStreamingResponse): Promise<void> => {
    const part = (name: string, chunk: { data: Uint8Array; close: boolean } | undefined): string[] =>
      chunk === undefined ? [] : [`${name}:${Buffer.from(chunk.data).toString()}${chunk.close ? "!" : ""}`];
    const parts = [...part("out", message.stdout), ...part("err", message.stderr)];
    if (message.exited) parts.push(`exit ${message.result?.exitCode}`);
    run.frames.push(parts.join(" "));
    return Promise.resolve();
  };
  return Object.assign(run, { work: runExec(driver, requests, write, signal) });
}
const says = (...frames: readonly ExecOutput[]) =>
  async function* (): AsyncGenerator<ExecOutput> {
    yield* frames;
  };

describe("the frames of an exec", () => {
  it("are the driver's, then the closes that it left out, then the exit", async () => {
    const run = exec(
      [SETUP],
      says({ stdout: { data: text("a") } }, { stderr: { data: text("b") } }, { exited: EXITED }),
    );
    await run.work;
    expect(run.frames).toEqual(["out:a", "err:b", "err:!", "out:!", "exit 3"]);
    expect(run.asked).toEqual([["t", { command: ["a", "b"], tty: true }]]);
    expect(run.returned).toBe(1);
  });

  it("close each stream once, and bring nothing of it afterwards", async () => {
    const run = exec(
      [SETUP],
      says(
        { stdout: { data: text("a"), close: true } },
        { stdout: { data: text("late") }, stderr: { data: text("b"), close: false } },
        { stdout: { close: true } },
        { stderr: { close: true }, exited: EXITED },
        { stderr: { data: text("after the exit") } },
      ),
    );
    await run.work;
    expect(run.frames).toEqual(["out:a!", "err:b", "err:!", "exit 3"]);
  });

  it("end without an exit only for a host that has gone", async () => {
    const ended = exec([SETUP], says({ stdout: { data: text("a") } }));
    await expect(ended.work).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_PROTOCOL",
      message: "exec: driver ended the stream without an exit result",
    });
    expect([ended.frames, ended.returned]).toEqual([["out:a"], 1]);
    const gone = new AbortController();
    const left = exec(
      [SETUP],
      async function* () {
        yield { stdout: { data: text("a") } };
        gone.abort();
        yield { stdout: { data: text("b") } };
        yield { exited: EXITED };
      },
      gone.signal,
    );
    await left.work;
    expect([left.frames, left.returned]).toEqual([["out:a", "out:b"], 1]);
  });

  it("fail with the driver's own failure", async () => {
    const run = exec([SETUP], async function* () {
      yield { stderr: { data: text("x") } };
      throw new Error("no shell");
    });
    await expect(run.work).rejects.toThrow("no shell");
    expect([run.frames, run.returned]).toEqual([["err:x"], 1]);
  });
});

describe("the input of an exec", () => {
  const typed = async function* (input: AsyncIterable<ExecInput>, seen: ExecInput[]): AsyncGenerator<ExecOutput> {
    for await (const one of input) seen.push(one);
    yield { exited: EXITED };
  };

  it("is what was typed and how large the terminal is, without heartbeats", async () => {
    const run = exec(
      [
        SETUP,
        { stdin: { data: text("a") } },
        {},
        { ttySize: {} },
        { ttySize: { height: 24 } },
        { ttySize: { width: 80 } },
        { stdin: {}, ttySize: { height: 1, width: 2 } },
        { stdin: { data: text("b"), close: true } },
        { stdin: { close: true } },
      ],
      typed,
    );
    await run.work;
    expect(run.inputs).toEqual([
      { stdin: { data: text("a") } },
      { ttySize: { height: 24, width: 0 } },
      { ttySize: { height: 0, width: 80 } },
      { stdin: {}, ttySize: { height: 1, width: 2 } },
      { stdin: { data: text("b"), close: true } },
      { stdin: { close: true } },
    ]);
  });

  it("may come with the setup", async () => {
    const run = exec([{ ...SETUP, stdin: { data: text("now") } }], typed);
    await run.work;
    expect(run.inputs).toEqual([{ stdin: { data: text("now") } }]);
  });

  it.each<[string, readonly Init[], string]>([
    ["nothing", [], "exec: first message without setup"],
    ["something else first", [{ stdin: { data: text("a") } }, SETUP], "exec: first message without setup"],
    ["no command", [{ setup: { taskId: "t" } }], "exec: empty command"],
  ])("is refused when it is %s", async (_what, messages, message) => {
    const run = exec(messages, says({ exited: EXITED }));
    await expect(run.work).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_PROTOCOL", message });
    expect(run.asked).toEqual([]);
  });

  it("is refused by a driver without exec, by name", async () => {
    const driver: DriverPlugin = new MemoryDriver();
    Object.assign(driver, { execTaskStreaming: undefined });
    const none = (async function* (): AsyncGenerator<ExecTaskStreamingRequest> {})();
    await expect(runExec(driver, none, () => Promise.resolve(), new AbortController().signal)).rejects.toThrow(
      "driver does not implement ExecTaskStreaming",
    );
  });
});
