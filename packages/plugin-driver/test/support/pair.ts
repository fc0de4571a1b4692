/** A driver behind a real socket, and a client attached to it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectPlugin, type ConnectPluginOptions, type HostedDriver } from "../../src/host/index.ts";
import type { DriverPlugin } from "../../src/index.ts";
import { createDriverServer, type DriverServer, type DriverServerOptions } from "../../src/serve/index.ts";

export interface Pair extends AsyncDisposable {
  readonly client: HostedDriver;
  readonly server: DriverServer;
  readonly socketPath: string;
}

export async function connected(
  driver: DriverPlugin,
  o: Omit<DriverServerOptions, "socketPath"> = {},
  c: ConnectPluginOptions = {},
): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), "opd-"));
  const socketPath = join(folder, "s");
  const server = await createDriverServer(driver, { ...o, socketPath });
  const client = await connectPlugin({ ...c, socketPath });
  return {
    client,
    server,
    socketPath,
    async [Symbol.asyncDispose]() {
      client.detach();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
