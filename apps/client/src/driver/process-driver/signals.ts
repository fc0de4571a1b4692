/** Signal names as they come from job files. */
import { OutriderError } from "@outrider/foundation";
import { constants } from "node:os";

/** The signal that a task gets when the job names none. */
export const DEFAULT_STOP_SIGNAL = "SIGINT";

const numbers = new Map<string, number>(Object.entries(constants.signals));

/**
 * The number of a signal such as `SIGHUP` (`HUP` and lower case are understood too).
 * @throws OutriderError `ERR_OUTRIDER_DRIVER_SIGNAL` for any other text
 */
export function signalNumber(name: string): number {
  const upper = name.toUpperCase();
  const number = numbers.get(upper) ?? numbers.get(`SIG${upper}`);
  if (number === undefined) {
    throw new OutriderError("ERR_OUTRIDER_DRIVER_SIGNAL", `unknown signal ${JSON.stringify(name)}`, {
      details: { field: "signal", text: name },
    });
  }
  return number;
}
