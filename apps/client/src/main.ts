#!/usr/bin/env node
import { systemClock } from "@outrider/backoff";
import { COMMANDS } from "./cli/index.ts";
import { runCommand } from "./cli/run.ts";
import { userTerminal } from "./cli/user-terminal.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // The second one is for somebody who does not want to wait.
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error(`stopped by ${signal}`));
  });
}
// `outrider … | head` ends when the reader does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}

void runCommand(
  COMMANDS,
  {
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    terminal: userTerminal(process.stdin, process.stdout),
    signal: stop.signal,
  },
  process.argv.slice(2),
).then((code) => {
  process.exitCode = code;
  // Output may still be on its way through a pipe; open sockets of a follower must not keep the process.
  const leave = (): void => process.exit(code);
  if (process.stdout.writableLength === 0) leave();
  else process.stdout.once("drain", leave);
});
