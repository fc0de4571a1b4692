/** A child process that exists only in the test. */
import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";

export class FakeChild extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  pid: number | undefined = 2 ** 30;
  readonly signals: string[] = [];
  unrefs = 0;
  /** What SIGKILL does. */
  onKill: () => void = () => this.exit(null, "SIGKILL");

  constructor(start: "spawn" | "error" = "spawn") {
    super();
    setImmediate(() => (start === "spawn" ? this.emit("spawn") : this.emit("error", new Error("spawn ENOENT"))));
  }

  kill(signal: string): boolean {
    this.signals.push(signal);
    this.onKill();
    return true;
  }

  unref(): void {
    this.unrefs++;
  }

  exit(code: number | null, signal: string | null = null): void {
    this.emit("exit", code, signal);
  }

  asChild(): ChildProcess {
    return this as unknown as ChildProcess;
  }
}
