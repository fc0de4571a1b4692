import { createServer } from "node:net";

/** Ports of loopback on which nobody listens. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** What differs from one configuration of a stock agent to the next. */
export interface StockAgentOptions {
  /** For HTTP, RPC and Serf. */
  readonly ports: readonly number[];
  /** More lines of the block `client`. */
  readonly client?: string;
  /** More attributes and blocks, among them those of the plugins. */
  readonly more?: string;
}

/** Nomad's own driver without isolation, which is off unless it is asked for. */
export const RAW_EXEC = `plugin "raw_exec" {
  config {
    enabled = true
  }
}
`;

/**
 * The configuration of a stock Nomad agent, server and client in one. Each line is needed once on a machine without a network: loopback is
 * advertised, and nothing outside is asked.
 */
export function stockAgentConfig({ ports: [http, rpc, serf], client = "", more = "" }: StockAgentOptions): string {
  return `bind_addr = "127.0.0.1"
name = "node1"
disable_update_check = true
ports {
  http = ${http}
  rpc = ${rpc}
  serf = ${serf}
}
advertise {
  http = "127.0.0.1"
  rpc = "127.0.0.1"
  serf = "127.0.0.1"
}
server {
  enabled = true
  bootstrap_expect = 1
}
client {
  enabled = true
  options = { "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean,consul,vault,cni" }
  ${client}
}
${more}`;
}
