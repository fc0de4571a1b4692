/** Descriptors that whoever started us left open: every task would inherit them too. */
import { closeSync, readdirSync, readFileSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2000000;

/** System calls, to be replaced in tests. */
export interface DescriptorCalls {
  list(): readonly string[];
  info(fd: number): string;
  close(fd: number): void;
}

const linux: DescriptorCalls = {
  list: () => readdirSync("/proc/self/fd"),
  info: (fd) => readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"),
  close: (fd) => closeSync(fd),
};

/**
 * Closes descriptors from 3 on that a child would inherit; Node's own are all close-on-exec. Answers their numbers; without
 * `/proc` nothing happens. Call it before anything else opens one.
 * @public
 */
export function closeInheritedDescriptors(calls: DescriptorCalls = linux): number[] {
  const closed: number[] = [];
  let numbers: readonly string[];
  try {
    numbers = calls.list();
  } catch {
    return closed;
  }
  for (const text of numbers) {
    const fd = Number(text);
    if (!(fd >= 3)) continue;
    try {
      const flags = Number.parseInt(/^flags:\s*([0-7]+)/m.exec(calls.info(fd))?.[1] ?? "", 8);
      if (Number.isNaN(flags) || (flags & CLOSE_ON_EXEC) !== 0) continue;
      calls.close(fd);
      closed.push(fd);
    } catch {
      // gone in between, such as the one that listed the folder
    }
  }
  return closed;
}
