/** Starting a shim: by `posix_spawn(3)` where a foreign function interface is at hand, else by Node. */
import type { Logger } from "@outrider/foundation";
import { spawn } from "node:child_process";
import { getSystemErrorName } from "node:util";
import { type Koffi, loadKoffi, type NativeFunction } from "../../logs/load-koffi.ts";

/** The shim needs `sleep`-free POSIX only; its helpers are named absolutely. */
const SHIM_PATH = "/usr/bin:/bin";
/** First descriptor that is passed on; below are three ends of /dev/null. */
const FIRST_FD = 3;

/** Starts programs in sessions of their own, with standard streams closed off, in `/`, without any ignored or blocked signal. */
export interface ShimSpawner {
  /**
   * Passes `fds` on as 3, 4, …, which must stay open until it resolves to the pid. `onExit` is called soon after the end at the earliest, and
   * perhaps never.
   */
  spawn(program: string, args: readonly string[], fds: readonly number[], onExit: () => void): Promise<number>;
  /** Takes ended children off the process table. */
  reap(): void;
}

/** By Node, which copies the page tables of this process for each child and waits for its exec: 2 to 10 ms. */
export class NodeSpawner implements ShimSpawner {
  async spawn(program: string, args: readonly string[], fds: readonly number[], onExit: () => void): Promise<number> {
    const child = spawn(program, args, {
      detached: true,
      env: { PATH: SHIM_PATH },
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore", ...fds],
    });
    child.on("error", () => undefined);
    if (child.pid === undefined) throw new Error(`failed to launch command: ${program} could not be spawned`);
    child.once("exit", onExit);
    child.unref();
    return child.pid;
  }

  reap(): void {
    // libuv does
  }
}

const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;
const O_RDWR = 2;
const WNOHANG = 1;
/** More than any C library takes for its opaque structures. */
const OPAQUE_BYTES = 1024;

/**
 * By the C library, whose child shares this process's memory until its exec: 0.3 ms, however large this process is. The thread that calls it
 * stands still until then, which takes long on a busy machine; so it is one of the pool's.
 */
export class NativeSpawner implements ShimSpawner {
  readonly #calls: Record<"spawn" | "init" | "destroy" | "chdir" | "open" | "dup" | "wait", NativeFunction>;
  readonly #attributes: Buffer = Buffer.alloc(OPAQUE_BYTES);
  readonly #status = new Int32Array(1);
  readonly #children = new Map<number, () => void>();
  readonly #fallback = new NodeSpawner();

  constructor(koffi: Koffi) {
    const libc = koffi.load(null);
    this.#calls = {
      spawn: libc.func(
        "int posix_spawn(int *pid, const char *path, uint8_t *actions, uint8_t *attributes, const char **argv, const char **envp)",
      ),
      init: libc.func("int posix_spawn_file_actions_init(uint8_t *actions)"),
      destroy: libc.func("int posix_spawn_file_actions_destroy(uint8_t *actions)"),
      chdir: libc.func("int posix_spawn_file_actions_addchdir_np(uint8_t *actions, const char *path)"),
      open: libc.func(
        "int posix_spawn_file_actions_addopen(uint8_t *actions, int fd, const char *path, int flags, unsigned int mode)",
      ),
      dup: libc.func("int posix_spawn_file_actions_adddup2(uint8_t *actions, int from, int to)"),
      wait: libc.func("int waitpid(int pid, int *status, int options)"),
    };
    // all bits: sigfillset(3) leaves out two signals of the C library's own, which the child would then ignore
    const all = Buffer.alloc(OPAQUE_BYTES, 0xff);
    const none = Buffer.alloc(OPAQUE_BYTES);
    const set = (name: string, prototype: string, ...args: unknown[]): void =>
      check(name, libc.func(`int ${name}(${prototype})`)(...args));
    const flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID;
    set("posix_spawnattr_init", "uint8_t *attributes", this.#attributes);
    set("posix_spawnattr_setflags", "uint8_t *attributes, short flags", this.#attributes, flags);
    set("posix_spawnattr_setsigdefault", "uint8_t *attributes, uint8_t *set", this.#attributes, all);
    set("posix_spawnattr_setsigmask", "uint8_t *attributes, uint8_t *set", this.#attributes, none);
  }

  async spawn(program: string, args: readonly string[], fds: readonly number[], onExit: () => void): Promise<number> {
    // one of them would be overwritten before it is copied
    if (fds.some((fd) => fd < FIRST_FD + fds.length)) return this.#fallback.spawn(program, args, fds, onExit);
    const { init, destroy, chdir, open, dup } = this.#calls;
    const actions = Buffer.alloc(OPAQUE_BYTES);
    check("posix_spawn_file_actions_init", init(actions));
    try {
      check("addchdir", chdir(actions, "/"));
      check("addopen", open(actions, 0, "/dev/null", O_RDWR, 0));
      for (const to of [1, 2]) check("adddup2", dup(actions, 0, to));
      fds.forEach((fd, index) => check("adddup2", dup(actions, fd, FIRST_FD + index)));
      const pid = await this.#posixSpawn(program, actions, [program, ...args, null]);
      this.#children.set(pid, onExit);
      return pid;
    } finally {
      destroy(actions);
    }
  }

  async #posixSpawn(program: string, actions: Buffer, argv: readonly (string | null)[]): Promise<number> {
    const pid = new Int32Array(1);
    const environment = [`PATH=${SHIM_PATH}`, null];
    const errno = await new Promise<number>((resolve, reject) => {
      const done = (error: Error | null, result: number): void => (error === null ? resolve(result) : reject(error));
      this.#calls.spawn.async(pid, program, actions, this.#attributes, argv, environment, done);
    });
    check("posix_spawn", errno);
    return pid[0] as number;
  }

  reap(): void {
    for (const [pid, onExit] of this.#children) {
      // 0: it lives
      if (this.#calls.wait(pid, this.#status, WNOHANG) === 0) continue;
      this.#children.delete(pid);
      onExit();
    }
  }
}

/** The better one that works here. */
export function createShimSpawner(logger: Logger): ShimSpawner {
  try {
    return new NativeSpawner(loadKoffi());
  } catch (reason) {
    logger.info({ err: reason }, "koffi is not available: starting tasks takes more time");
    return new NodeSpawner();
  }
}

/** These functions answer an error number instead of setting it. */
function check(call: string, errno: number): void {
  if (errno === 0) return;
  const code = errno > 0 ? getSystemErrorName(-errno) : "EUNKNOWN";
  throw Object.assign(new Error(`failed to launch command: ${call}: ${code}`), { code, errno: -errno, syscall: call });
}
