/** The optional foreign function interface. */
import { createRequire } from "node:module";

/** A bound C function. */
export type NativeFunction = ((...args: unknown[]) => number) & { async(...args: unknown[]): void };

/** The part of koffi that is used here; its own types pull in far more. */
export interface Koffi {
  load(path: string | null): { func(prototype: string): NativeFunction };
  errno(): number;
}

/** Loads koffi. Throws where it is not installed or not made for this machine. */
export function loadKoffi(): Koffi {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- see Koffi
  return createRequire(import.meta.url)("koffi") as Koffi;
}
