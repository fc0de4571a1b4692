import type { ExitResult } from "@outrider/nomad-structs";

/** What a driver tells of a task beside its end. @public */
export interface DriverEvent {
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly timestampMs: number;
}

/** Takes a driver's event into the task's event list. @public */
export type DriverEventHandler = (event: DriverEvent) => void;

/** A piece of a byte stream, its end, or both. @public */
export interface StreamChunk {
  readonly data?: Uint8Array;
  readonly close?: boolean;
}

/** From the user's terminal to a command in a task. An empty frame is a heartbeat. @public */
export interface TaskExecInput {
  readonly stdin?: StreamChunk;
  readonly ttySize?: { readonly height: number; readonly width: number };
}

/** From the command to the terminal; the frame with `exited` comes last. @public */
export interface TaskExecOutput {
  readonly stdout?: StreamChunk;
  readonly stderr?: StreamChunk;
  readonly exited?: ExitResult;
}

/** Runs a command inside a running task. @public */
export type TaskExecHandler = (
  request: { readonly command: readonly string[]; readonly tty: boolean },
  input: AsyncIterable<TaskExecInput>,
  signal: AbortSignal,
) => AsyncIterable<TaskExecOutput>;
