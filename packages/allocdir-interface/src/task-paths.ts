import { join } from "node:path";

/** Where everything of a task is: Nomad's tree. */
export class TaskPaths {
  readonly name: string;
  readonly allocDir: string;
  readonly dir: string;
  readonly sharedAllocDir: string;
  readonly logDir: string;
  readonly sharedTaskDir: string;
  readonly localDir: string;
  readonly secretsDir: string;
  readonly privateDir: string;
  readonly tmpDir: string;

  /** `dir` is given where the layout puts the task's directory elsewhere. */
  constructor(allocDir: string, name: string, dir: string = join(allocDir, name)) {
    this.name = name;
    this.allocDir = allocDir;
    this.dir = dir;
    this.sharedAllocDir = join(allocDir, "alloc");
    this.logDir = join(this.sharedAllocDir, "logs");
    this.sharedTaskDir = join(dir, "alloc");
    this.localDir = join(dir, "local");
    this.secretsDir = join(dir, "secrets");
    this.privateDir = join(dir, "private");
    this.tmpDir = join(dir, "tmp");
  }
}
