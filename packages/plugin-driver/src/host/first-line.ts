/** Waits for the first line of a plugin's stdout; everything after it is drained and dropped, without limit. */
import { onAbort, type Clock } from "@outrider/backoff";
import type { Readable } from "node:stream";
import { PluginStartError } from "../contract/errors.ts";
import type { PluginExit } from "./hosted-driver.ts";

/** Longer first lines are no handshake. */
const MAX_LINE_BYTES = 16 * 1024;
/** After the exit of the process: so long may its last output take. */
const LAST_OUTPUT_MS = 100;

/** Options of {@link readFirstLine}. */
export interface FirstLineOptions {
  readonly stdout: Readable;
  readonly exited: Promise<PluginExit>;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** @throws {@link PluginStartError} of kind `timeout`, `exited` or `handshake` */
export function readFirstLine(o: FirstLineOptions): Promise<string> {
  const { stdout, clock, signal } = o;
  return new Promise((resolve, reject) => {
    let text = Buffer.alloc(0);
    let lastOutput: unknown;
    const settle = (then: () => void): void => {
      clock.clearTimeout(timer);
      clock.clearTimeout(lastOutput);
      forget();
      stdout.off("data", onData);
      stdout.off("end", onEnd);
      // From now on only drained: a full pipe would block the plugin.
      stdout.resume();
      then();
    };
    const fail = (reason: Error): void => settle(() => reject(reason));
    const shown = (): string => JSON.stringify(text.subarray(0, 200).toString("utf8"));
    const onData = (chunk: Buffer): void => {
      text = Buffer.concat([text, chunk]);
      const at = text.indexOf(10);
      if (at >= 0 && at <= MAX_LINE_BYTES) settle(() => resolve(text.subarray(0, at).toString("utf8")));
      else if (at >= 0 || text.length > MAX_LINE_BYTES) {
        fail(
          new PluginStartError("handshake", `plugin's first line is longer than ${MAX_LINE_BYTES} bytes: ${shown()}`),
        );
      }
    };
    const ended = (exit: PluginExit | undefined): void => {
      const how = exit === undefined ? "closed its stdout" : `exited with ${exit.signal ?? `code ${exit.code}`}`;
      fail(
        new PluginStartError("exited", `plugin ${how} before its handshake; it wrote ${shown()}`, {
          details: { output: shown() },
        }),
      );
    };
    const onEnd = (): void => {
      // The exit says more than the end of the pipe; it follows at once unless the plugin closed its stdout on purpose.
      lastOutput ??= clock.setTimeout(() => ended(undefined), LAST_OUTPUT_MS);
    };
    const timer = clock.setTimeout(
      () =>
        fail(
          new PluginStartError("timeout", `plugin gave no handshake within ${o.timeoutMs} ms`, { recoverable: true }),
        ),
      o.timeoutMs,
    );
    const forget = signal === undefined ? () => undefined : onAbort(signal, () => fail(signal.reason as Error));
    stdout.on("data", onData);
    stdout.once("end", onEnd);
    void o.exited.then((exit) => {
      // A child that it left behind may keep the pipe open for ever.
      clock.clearTimeout(lastOutput);
      lastOutput = clock.setTimeout(() => ended(exit), stdout.readableEnded ? 0 : LAST_OUTPUT_MS);
    });
  });
}
