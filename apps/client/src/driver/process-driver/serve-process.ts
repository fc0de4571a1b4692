/** Our own services of the driver process on their socket. */
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { chmodSync } from "node:fs";
import { unlinkQuietly } from "./files.ts";

/** Listens on a unix socket; the folder around it keeps other users out. Returns how to end. */
export async function serveOn(path: string, addServices: (server: Server) => void): Promise<() => void> {
  const server = new Server({ "grpc.enable_channelz": 0 });
  addServices(server);
  unlinkQuietly(path);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  chmodSync(path, 0o600);
  return () => server.forceShutdown();
}
