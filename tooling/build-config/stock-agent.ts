import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/**
 * Where kernels take no port for connections that choose none (they begin at 32768 or above), and Nomad none for a task (from 20000 on): what is
 * free here stays free until the one for whom it was chosen listens.
 */
const [FIRST_PORT, PORTS] = [10_000, 10_000];

/** Ports of loopback on which nobody listens. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  while (servers.length < count) {
    const server = createServer();
    const listens = await new Promise<boolean>((resolve) => {
      server.once("listening", () => resolve(true)).once("error", () => resolve(false));
      server.listen(randomInt(FIRST_PORT, FIRST_PORT + PORTS), "127.0.0.1");
    });
    if (listens) servers.push(server);
  }
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
