import { hostname } from "node:os";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { OutriderError } from "@outrider/foundation";
import type { BindAddress } from "../http/index.ts";
import type { ExternalPlugin } from "../driver/external-source.ts";
import { resolvePlugins } from "./agent-plugins.ts";
import type { ClientGcLimits } from "../node/index.ts";
import { DEFAULT_CLIENT_GC } from "../node/index.ts";

/** Where the HTTP API listens unless something else is said. */
export const DEFAULT_HTTP_HOST = "127.0.0.1";
export const DEFAULT_HTTP_PORT = 4646;

/** Options of the node part. */
export interface ClientOptions {
  /** Longest time that a task may ask for between signal and kill, ms. */
  readonly maxKillTimeoutMs: number;
  /** Whether usage of tasks is published as metrics. */
  readonly publishAllocationMetrics: boolean;
  /** Interval of usage samples, ms. */
  readonly collectionIntervalMs: number;
  /** Whether counters and times of hooks are published. */
  readonly hookMetrics: boolean;
  readonly gc: ClientGcLimits;
  readonly nodeClass: string;
  readonly nodePool: string;
  readonly meta: Readonly<Record<string, string>>;
  /** MHz and MB; replace what is found on the machine. */
  readonly cpuTotalCompute?: number;
  readonly memoryTotalMB?: number;
  readonly minDynamicPort?: number;
  readonly maxDynamicPort?: number;
}

/** Everything an agent needs to know. */
export interface AgentConfig {
  /** Absolute. */
  readonly dataDir: string;
  readonly bind: { readonly http: BindAddress };
  /** Names beside the loopback ones under which the API may be addressed. */
  readonly allowedHosts: readonly string[];
  readonly token: string | undefined;
  readonly region: string;
  readonly datacenter: string;
  readonly nodeName: string;
  readonly logLevel: string;
  readonly prometheus: boolean;
  /** Where driver plugins lie; absolute. */
  readonly pluginDir: string | undefined;
  /** Those that are run. */
  readonly plugins: readonly ExternalPlugin[];
  readonly clientOptions: ClientOptions;
}

/** What flags say; texts as they were typed, absent where nothing was said. */
export interface AgentSettings {
  readonly dataDir?: string | undefined;
  readonly bind?: string | undefined;
  readonly port?: string | number | undefined;
  readonly socket?: string | undefined;
  readonly token?: string | undefined;
  readonly region?: string | undefined;
  readonly datacenter?: string | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeClass?: string | undefined;
  readonly logLevel?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly meta?: Readonly<Record<string, string>> | undefined;
  readonly pluginDir?: string | undefined;
  /** `driver=file` for each. */
  readonly plugins?: readonly string[] | undefined;
  /** `driver={…}`, the plugin's `config` block as JSON. */
  readonly pluginConfigs?: readonly string[] | undefined;
}

/** Flag and environment variable of each setting, for messages and docs. */
export const SETTING_NAMES = {
  dataDir: ["-data-dir", "OUTRIDER_DATA_DIR"],
  bind: ["-bind", "OUTRIDER_HTTP_BIND"],
  port: ["-port", "OUTRIDER_HTTP_PORT"],
  socket: ["-socket", "OUTRIDER_HTTP_SOCKET"],
  token: ["-token", "OUTRIDER_HTTP_TOKEN"],
  region: ["-region", "OUTRIDER_REGION"],
  datacenter: ["-dc", "OUTRIDER_DC"],
  nodeName: ["-node", "OUTRIDER_NODE_NAME"],
  nodeClass: ["-node-class", "OUTRIDER_NODE_CLASS"],
  logLevel: ["-log-level", "OUTRIDER_LOG_LEVEL"],
  pluginDir: ["-plugin-dir", "OUTRIDER_PLUGIN_DIR"],
} as const satisfies Partial<Record<keyof AgentSettings, readonly [flag: string, env: string]>>;

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"];
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Flags over environment over defaults. Throws ERR_OUTRIDER_AGENT_CONFIG naming flag, variable and the offending text. */
export function resolveAgentConfig(
  flags: AgentSettings,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string = process.cwd(),
): AgentConfig {
  const text = (name: keyof typeof SETTING_NAMES, fallback: string): string => {
    const [, variable] = SETTING_NAMES[name];
    const value = flags[name] ?? env[variable];
    return value === undefined || value === "" ? fallback : String(value);
  };
  const dataDir = text("dataDir", "");
  if (dataDir === "") throw bad("dataDir", "", "a folder for state is needed");
  if (dataDir.includes("\0")) throw bad("dataDir", dataDir, "must be a path");
  const socket = text("socket", "");
  const token = text("token", "");
  const http: BindAddress =
    socket !== ""
      ? { unixSocket: resolve(cwd, socket) }
      : {
          host: checkedHost(text("bind", DEFAULT_HTTP_HOST)),
          port: checkedPort(text("port", String(DEFAULT_HTTP_PORT))),
        };
  if ("host" in http && !isLoopback(http.host) && token === "") {
    throw new OutriderError(
      "ERR_OUTRIDER_AGENT_TOKEN_NEEDED",
      `listening on ${http.host} lets other machines run programs here: give a token with -token or OUTRIDER_HTTP_TOKEN, or listen on 127.0.0.1`,
      { details: { bind: http.host } },
    );
  }
  if (token !== "" && token.length < 16) throw bad("token", "…", "must have at least 16 characters");
  return {
    dataDir: resolve(cwd, dataDir),
    bind: { http },
    allowedHosts: [...(flags.allowedHosts ?? []), ...("host" in http ? [http.host.toLowerCase()] : [])],
    token: token === "" ? undefined : token,
    region: checkedName("region", text("region", "global")),
    datacenter: checkedName("datacenter", text("datacenter", "dc1")),
    nodeName: checkedName("nodeName", text("nodeName", defaultNodeName())),
    logLevel: checkedLevel(text("logLevel", "info")),
    prometheus: true,
    ...resolvePlugins(flags, text("pluginDir", ""), cwd),
    clientOptions: {
      maxKillTimeoutMs: 30_000,
      publishAllocationMetrics: true,
      collectionIntervalMs: 1000,
      hookMetrics: true,
      gc: DEFAULT_CLIENT_GC,
      nodeClass: text("nodeClass", ""),
      nodePool: "default",
      meta: flags.meta ?? {},
    },
  };
}

/** Whether an address is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function defaultNodeName(): string {
  const name = hostname()
    .replace(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "");
  return name === "" ? "node" : name.slice(0, 128);
}

function checkedHost(host: string): string {
  if (host !== "localhost" && isIP(host) === 0) throw bad("bind", host, "must be an IP address or localhost");
  return host;
}

function checkedPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw bad("port", text, "must be a port from 0 to 65535");
  return port;
}

function checkedName(name: "region" | "datacenter" | "nodeName", text: string): string {
  if (!NAME.test(text)) throw bad(name, text, "must be letters, digits, dots, dashes and underscores, at most 128");
  return text;
}

function checkedLevel(text: string): string {
  const level = text.toLowerCase();
  if (!LOG_LEVELS.includes(level)) throw bad("logLevel", text, `must be one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

function bad(name: keyof typeof SETTING_NAMES, value: string, what: string): OutriderError {
  const [flag, variable] = SETTING_NAMES[name];
  return new OutriderError(
    "ERR_OUTRIDER_AGENT_CONFIG",
    `${flag} (or ${variable}): ${what}${value === "" ? "" : `, not ${JSON.stringify(value)}`}`,
    { details: { flag, variable, value } },
  );
}
