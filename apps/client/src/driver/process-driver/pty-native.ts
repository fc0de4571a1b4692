/** Pseudo-terminals of the kernel: `ioctl` comes by way of koffi, everything else is files. */
import { closeSync, constants, fchownSync, openSync } from "node:fs";
import { loadKoffi } from "../../logs/load-koffi.ts";

// the numbers of x86 and arm
const TIOCGPTN = 0x80045430;
const TIOCSPTLCK = 0x40045431;
const TIOCSWINSZ = 0x5414;

type Ioctl = (fd: number, request: number, type: string, argument: Int32Array | Uint16Array) => number;

/** A terminal's two ends, both open here. */
export interface NativePty {
  /** Non-blocking. */
  readonly master: number;
  readonly slavePath: string;
  resize(rows: number, columns: number): void;
  /** Lets go of the end of the command, so that reading the master ends with it. */
  closeSlave(): void;
}

/** Makes terminals. */
export interface NativePtys {
  open(owner: number | undefined): NativePty;
}

/** `undefined` where koffi is not installed or the machine has no pseudo-terminals. */
export function loadNativePtys(): NativePtys | undefined {
  try {
    const ioctl: Ioctl = loadKoffi().load(null).func("int ioctl(int fd, unsigned long request, ...)");
    const ptys = { open: (owner: number | undefined) => openPty(ioctl, owner) };
    const probe = ptys.open(undefined);
    probe.closeSlave();
    closeSync(probe.master);
    return ptys;
  } catch {
    return undefined;
  }
}

function openPty(ioctl: Ioctl, owner: number | undefined): NativePty {
  const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants;
  const master = openSync("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
  try {
    const number = new Int32Array(1);
    const call = (request: number, name: string): void => {
      if (ioctl(master, request, "int32_t *", number) !== 0) throw new Error(`exec: ${name} of a new terminal failed`);
    };
    call(TIOCSPTLCK, "unlocking");
    call(TIOCGPTN, "the number");
    const slavePath = `/dev/pts/${number[0]}`;
    let slave: number | undefined = openSync(slavePath, O_RDWR | O_NOCTTY);
    // so that the command can open its terminal by name
    if (owner !== undefined) fchownSync(slave, owner, -1);
    return {
      master,
      slavePath,
      resize: (rows, columns) => void ioctl(master, TIOCSWINSZ, "uint16_t *", new Uint16Array([rows, columns, 0, 0])),
      closeSlave() {
        if (slave !== undefined) closeSync(slave);
        slave = undefined;
      },
    };
  } catch (reason) {
    closeSync(master);
    throw reason;
  }
}
