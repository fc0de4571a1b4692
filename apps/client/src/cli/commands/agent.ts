import { resolve } from "node:path";
import { tuneEngine } from "../../agent/tune-engine.ts";
import { CommandError, type Command, type CommandContext } from "../command.ts";
import { openAgentLog } from "../agent-log.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { NOMAD_VERSION, VERSION } from "../../version.ts";

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  if (process.platform !== "linux")
    throw new CommandError(`The agent runs on Linux only; this is ${process.platform}.`);
  if (flags.args.length > 0)
    throw new CommandError(`The agent takes no arguments, but got ${JSON.stringify(flags.args[0])}`);
  tuneEngine();
  // Loaded here, so that the commands which only ask an agent start without a server inside.
  const { buildAgent, resolveAgentConfig } = await import("../../agent/index.ts");
  const text = (name: string): string | undefined => (flags.has(name) ? flags.string(name) : undefined);
  const config = resolveAgentConfig(
    {
      dataDir: text("data-dir"),
      bind: text("bind"),
      port: text("port"),
      socket: text("socket"),
      token: text("token"),
      region: text("region"),
      datacenter: text("dc"),
      nodeName: text("node"),
      nodeClass: text("node-class"),
      logLevel: text("log-level"),
      allowedHosts: flags.list("allowed-host"),
      meta: metaOf(flags.list("meta")),
      pluginDir: text("plugin-dir"),
      plugins: flags.list("plugin"),
      pluginConfigs: flags.list("plugin-config"),
    },
    context.env,
    context.cwd,
  );
  const file = flags.string("log-file") || context.env["OUTRIDER_LOG_FILE"];
  const json = flags.has("log-json")
    ? flags.bool("log-json")
    : /^(1|t|true)$/i.test(context.env["OUTRIDER_LOG_JSON"] ?? "");
  const log = openAgentLog({ level: config.logLevel, json, file: file ? resolve(context.cwd, file) : undefined });
  const reopen = (): void => log.reopen();
  process.on("SIGHUP", reopen);
  // A terminal or pipe that goes away is no reason to end.
  process.on("SIGPIPE", () => undefined);
  try {
    const agent = await buildAgent(config, { logger: log.logger, version: VERSION });
    try {
      await agent.start();
      await agent.ready;
      const address = agent.http.address;
      context.stdout.write(
        `Outrider agent v${VERSION} (Nomad ${NOMAD_VERSION} API) at ${address}, data in ${config.dataDir}\n`,
      );
      // A parent with a channel is told where the agent listens; when the parent is gone, the agent leaves too.
      process.send?.({ type: "ready", address });
      await ended(context.signal);
    } finally {
      await agent.stop();
    }
    log.logger.info("the agent has stopped; tasks go on");
    return 0;
  } catch (error) {
    log.logger.error({ err: error }, "the agent could not start");
    throw error;
  } finally {
    process.off("SIGHUP", reopen);
    if (process.connected) process.disconnect();
    log.flush();
  }
}

/** Resolves when the agent is asked to leave. */
function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (process.send !== undefined) process.once("disconnect", () => resolve());
  });
}

function metaOf(pairs: readonly string[]): Record<string, string> {
  const meta: Record<string, string> = {};
  for (const pair of pairs) {
    const equals = pair.indexOf("=");
    if (equals <= 0) throw new CommandError(`-meta ${JSON.stringify(pair)} is not of the form key=value`);
    meta[pair.slice(0, equals)] = pair.slice(equals + 1);
  }
  return meta;
}

export const agent: Command = {
  name: "agent",
  synopsis: "Run the client with its embedded server",
  usage: `outrider agent [options]

  -data-dir <path>       Where state and allocations are kept (OUTRIDER_DATA_DIR; needed)
  -port <n>              Port of the HTTP API (OUTRIDER_HTTP_PORT, default 4646)
  -bind <address>        Address to listen on (OUTRIDER_HTTP_BIND, default 127.0.0.1)
  -socket <path>         Listen on a unix socket instead (OUTRIDER_HTTP_SOCKET)
  -token <secret>        Token that every request must carry (OUTRIDER_HTTP_TOKEN); needed beyond loopback
  -allowed-host <name>   Another name under which the API may be addressed; may be repeated
  -region <name>         (OUTRIDER_REGION, default global)
  -dc <name>             Datacenter (OUTRIDER_DC, default dc1)
  -node <name>           Name of the node (OUTRIDER_NODE_NAME, default the host's)
  -node-class <name>     (OUTRIDER_NODE_CLASS)
  -meta key=value        Metadata of the node; may be repeated
  -plugin-dir <path>     Folder of driver plugins (OUTRIDER_PLUGIN_DIR)
  -plugin driver=file    Run a plugin of that folder as a driver; may be repeated
  -plugin-config driver={…}  The plugin's config block as JSON; may be repeated
  -log-level <level>     trace, debug, info, warn or error (OUTRIDER_LOG_LEVEL, default info)
  -log-json              Lines as JSON (OUTRIDER_LOG_JSON)
  -log-file <path>       Instead of standard error; SIGHUP opens it anew (OUTRIDER_LOG_FILE)

SIGINT and SIGTERM end the agent; tasks keep running and are found again at the next start.`,
  flags: {
    "data-dir": "string",
    port: "string",
    bind: "string",
    socket: "string",
    token: "string",
    "allowed-host": "list",
    region: "string",
    dc: "string",
    node: "string",
    "node-class": "string",
    meta: "list",
    "plugin-dir": "string",
    plugin: "list",
    "plugin-config": "list",
    "log-level": "string",
    "log-json": "bool",
    "log-file": "string",
  },
  client: false,
  run,
};
