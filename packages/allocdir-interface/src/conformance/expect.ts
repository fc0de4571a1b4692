import assert from "node:assert/strict";
import type { AllocDirReason } from "../alloc-dir-error.ts";
import type { FileReader } from "../alloc-dir-fs.ts";
import type { StreamFrame } from "../stream-frame.ts";
import { ok } from "./ok.ts";

const PREFIX = "ERR_OUTRIDER_ALLOCDIR_";

/** The error of a call that has to fail; fails if it succeeds, or with an error without code. */
export async function failureOf(call: () => unknown, what: string): Promise<Error & { code: string; path?: string }> {
  let value: unknown;
  try {
    value = await call();
  } catch (reason) {
    const error = reason as Error & { code?: unknown };
    ok(error instanceof Error && typeof error.code === "string", `${what}: no error with a code: ${String(reason)}`);
    return error as Error & { code: string };
  }
  // What should not have been given is not left open.
  await (value as Partial<FileReader> | undefined)?.close?.();
  return assert.fail(`${what}: succeeded`);
}

/** A call has to be refused with one of these codes. */
export async function refused(
  call: () => unknown,
  reasons: AllocDirReason | readonly AllocDirReason[],
  what: string,
): Promise<Error & { code: string; path?: string }> {
  const error = await failureOf(call, what);
  const wanted = (typeof reasons === "string" ? [reasons] : reasons).map((reason) => PREFIX + reason);
  ok(wanted.includes(error.code), `${what}: ${error.code} (${error.message}) instead of ${wanted.join(" or ")}`);
  return error;
}

/** Everything a reader has, closed afterwards. */
export async function drain(reader: FileReader, chunk = 65_536): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  await using open = reader;
  for (;;) {
    const data = await open.read(chunk);
    ok(data.length <= chunk, `read(${chunk}) gave ${data.length} bytes`);
    if (data.length === 0) return Buffer.concat(parts);
    // A copy: a reader may use its buffer again.
    parts.push(Uint8Array.from(data));
  }
}

/** Text of frames, with events in brackets. */
export const textOf = (frames: readonly StreamFrame[]): string =>
  frames
    .map((f) => (f.fileEvent === undefined ? Buffer.from(f.data as Uint8Array).toString() : `[${f.fileEvent}]`))
    .join("");

/** All frames of a stream that ends. */
export async function framesOf(frames: AsyncIterable<StreamFrame>): Promise<StreamFrame[]> {
  const list: StreamFrame[] = [];
  for await (const frame of frames) list.push({ ...frame, data: Uint8Array.from(frame.data as Uint8Array) });
  return list;
}
