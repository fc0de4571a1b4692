import type { Command } from "../command.ts";
import { VERSION } from "../../version.ts";

export const version: Command = {
  name: "version",
  synopsis: "Print the version",
  usage: "outrider version",
  flags: {},
  client: false,
  run: (context) => {
    context.stdout.write(`Outrider v${VERSION}\n`);
    return Promise.resolve(0);
  },
};
