/** Descriptors that whoever started this process forgot to close; every task would inherit them. */
import { closeSync, readdirSync, readFileSync } from "node:fs";

const O_CLOEXEC = 0o2000000;

/** Closes everything from 3 on that would survive an exec: what Node opens for itself never does. Call before opening anything. */
export function closeForeignDescriptors(): number[] {
  const closed: number[] = [];
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd < 3) continue;
    try {
      const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "latin1"))?.[1];
      if (flags === undefined || (Number.parseInt(flags, 8) & O_CLOEXEC) !== 0) continue;
      closeSync(fd);
      closed.push(fd);
    } catch {
      // the descriptor of this very listing
    }
  }
  return closed;
}
