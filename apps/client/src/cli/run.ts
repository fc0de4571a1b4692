import { isOutriderError } from "@outrider/foundation";
import { styleText } from "node:util";
import { ApiError } from "./api-client.ts";
import { CLIENT_FLAGS, CommandError, type Command, type CommandContext } from "./command.ts";
import { columns } from "./format.ts";
import { parseGoFlags, UsageError, type FlagSpec } from "./go-flags.ts";
import { VERSION } from "../version.ts";

const CLIENT_USAGE = `
  -address <url>     The agent (default http://127.0.0.1:4646; unix:///path for a socket; NOMAD_ADDR)
  -namespace <name>  (NOMAD_NAMESPACE)          -region <name>  (NOMAD_REGION)
  -token <secret>    (NOMAD_TOKEN)              -no-color, -force-color
  -ca-cert, -ca-path, -client-cert, -client-key, -tls-server-name, -tls-skip-verify`;

/** First words of commands that only Nomad's own command has. */
const OF_NOMAD = new Set(
  (
    "acl config deployment eval event fmt license login monitor namespace operator plugin quota recommendation scaling " +
    "sentinel server service setup system tls ui var volume"
  ).split(" "),
);

/** Finds the command that the first words name and runs it. Gives the exit code; writes every failure as one message. */
export async function runCommand(
  commands: readonly Command[],
  context: CommandContext,
  argv: readonly string[],
): Promise<number> {
  const say = (text: string): void => void context.stderr.write(`${text}\n`);
  const first = argv[0];
  if (first === undefined || ["-h", "-help", "--help", "help"].includes(first)) {
    (first === undefined ? context.stderr : context.stdout).write(overview(commands));
    return first === undefined ? 127 : 0;
  }
  if (["-v", "-version", "--version"].includes(first)) {
    context.stdout.write(`Outrider v${VERSION}\n`);
    return 0;
  }
  const command =
    commands.find((c) => c.name === first) ?? commands.find((c) => c.name === `${first} ${argv[1] ?? ""}`);
  if (command === undefined) {
    const family = commands.filter((c) => c.name.startsWith(`${first} `));
    if (family.length > 0 && (argv[1] === undefined || argv[1].startsWith("-"))) {
      context.stdout.write(`${columns(family.map((c) => [`outrider ${c.name}`, c.synopsis]))}\n`);
      return argv[1] === undefined ? 1 : 0;
    }
    const words = argv.slice(0, family.length > 0 || OF_NOMAD.has(first) ? 2 : 1).filter((w) => !w.startsWith("-"));
    say(`outrider: there is no command ${JSON.stringify(words.join(" "))}; \`outrider help\` lists them`);
    const near = commands.filter((c) => c.name.endsWith(` ${first}`)).map((c) => `\`outrider ${c.name}\``);
    if (near.length > 0) say(`Did you mean ${near.join(" or ")}?`);
    else if (family.length > 0 || OF_NOMAD.has(first))
      say("If Nomad's own command has it: that one works against this agent, too, as far as the agent supports it.");
    return 127;
  }
  const spec: FlagSpec = command.client ? { ...CLIENT_FLAGS, ...command.flags } : command.flags;
  try {
    const flags = parseGoFlags(argv.slice(command.name.split(" ").length), spec);
    return await command.run(context, flags);
  } catch (error) {
    if (context.signal.aborted && error === context.signal.reason) return 130;
    if (error instanceof UsageError && error.flag === "help") {
      context.stdout.write(
        `Usage: ${command.usage}\n${command.client ? `\nOf every command that talks to an agent:${CLIENT_USAGE}\n` : ""}`,
      );
      return 0;
    }
    say(worded(error, context));
    if (error instanceof UsageError) say(`\`outrider ${command.name} -help\` shows how it is called`);
    return 1;
  }
}

function worded(error: unknown, context: CommandContext): string {
  if (error instanceof CommandError || error instanceof UsageError || error instanceof ApiError)
    return emphasized(error.message, context);
  if (isOutriderError(error)) return emphasized(`${error.message} (${error.code})`, context);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const emphasized = (text: string, context: CommandContext): string =>
  context.stderr.isTTY === true && !context.env["NO_COLOR"] && !context.env["NOMAD_CLI_NO_COLOR"]
    ? styleText("red", text)
    : text;

function overview(commands: readonly Command[]): string {
  return `Usage: outrider <command> [options] [arguments]\n\n${columns([...commands].sort((a, b) => (a.name < b.name ? -1 : 1)).map((c) => [`  ${c.name}`, c.synopsis]))}\n\n\`outrider <command> -help\` shows the options of one.\n`;
}
