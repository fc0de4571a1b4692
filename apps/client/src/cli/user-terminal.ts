import { spawnSync } from "node:child_process";
import type { ReadStream, WriteStream } from "node:tty";
import type { UserTerminal } from "./command.ts";

/** The terminal of this process; `undefined` when input or output is something else. */
export function userTerminal(
  input: Pick<ReadStream, "isTTY" | "setRawMode">,
  output: Pick<WriteStream, "isTTY" | "rows" | "columns" | "on" | "off">,
): UserTerminal | undefined {
  if (!input.isTTY || !output.isTTY) return undefined;
  return {
    setRaw(raw) {
      input.setRawMode(raw);
      // Node's raw mode still turns line ends into two characters, which the program's terminal has done already; its return undoes this, too
      if (raw) spawnSync("stty", ["-opost"], { stdio: [0, "ignore", "ignore"] });
    },
    size: () => ({ height: output.rows, width: output.columns }),
    onResize(changed) {
      output.on("resize", changed);
      return () => void output.off("resize", changed);
    },
  };
}
