import type { ExecInput, ExecOutput } from "@outrider/plugin-driver";

/** What a client of an exec sends; an empty message is a sign of life. */
export interface ExecMessage extends ExecInput {
  /** Of the first message only, when the client announced it. */
  readonly handshake?: { readonly version: number; readonly token: string };
}

/** Reads a message of a client. @throws Error with words for it */
export function parseExecMessage(text: string): ExecMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("message is not JSON");
  }
  const map = mapOf(value, "message");
  const { stdin, tty_size: size, version } = map;
  return {
    ...(stdin === undefined || stdin === null ? {} : { stdin: parseStdin(mapOf(stdin, "stdin")) }),
    ...(size === undefined || size === null ? {} : sizeOf(mapOf(size, "tty_size"))),
    ...(typeof version === "number"
      ? { handshake: { version, token: typeof map["auth_token"] === "string" ? map["auth_token"] : "" } }
      : {}),
  };
}

function parseStdin({ data, close }: Record<string, unknown>): { data?: Uint8Array; close?: boolean } {
  if (data !== undefined && data !== null && typeof data !== "string") throw new Error("stdin.data is not a text");
  return {
    ...(typeof data === "string" && data !== "" ? { data: Buffer.from(data, "base64") } : {}),
    ...(close === true ? { close: true } : {}),
  };
}

/** A terminal without a size sends an empty one: nothing to set. */
function sizeOf({ height = 0, width = 0 }: Record<string, unknown>): Pick<ExecInput, "ttySize"> {
  const fine = (value: unknown): value is number =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) < 65_536;
  if (!fine(height) || !fine(width)) throw new Error("tty_size is not a size");
  return height === 0 && width === 0 ? {} : { ttySize: { height, width } };
}

function mapOf(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${field} is not an object`);
  return value as Record<string, unknown>;
}

/** A message for the client; fields that are zero are left out, as in Nomad. `undefined`: it needs none. */
export function execFrameText({ stdout, stderr, exited }: ExecOutput): string | undefined {
  const chunk = (c: ExecOutput["stdout"]): object | undefined =>
    c === undefined
      ? undefined
      : {
          ...(c.data === undefined || c.data.length === 0 ? {} : { data: Buffer.from(c.data).toString("base64") }),
          ...(c.close === true ? { close: true } : {}),
        };
  const result =
    exited === undefined
      ? undefined
      : {
          ...(exited.exitCode === 0 ? {} : { exit_code: exited.exitCode }),
          ...(exited.signal === 0 ? {} : { signal: exited.signal }),
          ...(exited.oomKilled ? { oom_killed: true } : {}),
        };
  const frame = {
    ...(stdout === undefined ? {} : { stdout: chunk(stdout) }),
    ...(stderr === undefined ? {} : { stderr: chunk(stderr) }),
    ...(result === undefined ? {} : { exited: true, result }),
  };
  return Object.keys(frame).length === 0 ? undefined : JSON.stringify(frame);
}
