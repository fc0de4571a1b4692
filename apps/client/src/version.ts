import { readFileSync } from "node:fs";

/** The version of this program, from the manifest one folder up: so in the sources as in the built package. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;

/** The version of Nomad whose behaviour the program follows. */
export const NOMAD_VERSION = "2.0.5";
