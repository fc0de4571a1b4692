import type * as Crypto from "node:crypto";

/** Loads node:crypto at the first hash: importing it would be most of the start time and memory of this package. */
export const nodeCrypto = (): typeof Crypto => process.getBuiltinModule("node:crypto");
