/** A driver process of another age: it holds the folder and speaks a protocol that nobody knows, but it understands "leave". */
import { create } from "@bufbuild/protobuf";
import { lockFolder } from "../../src/driver/process-driver/lock.ts";
import { serveOn } from "../../src/driver/process-driver/serve-process.ts";
import { openStateFolder, PROCESS_SOCKET } from "../../src/driver/process-driver/state-folder.ts";
import { DriverProcess, HelloResponseSchema, QuitResponseSchema } from "../../src/logs/gen/driver_process_pb.js";
import { answer, definitionOf } from "../../src/logs/grpc-glue.ts";

const folder = openStateFolder(process.argv[2] as string);
if (!(await lockFolder(folder.path))) process.exit(3);
await serveOn(folder.socket(PROCESS_SOCKET), (server) =>
  server.addService(definitionOf(DriverProcess), {
    hello: answer(async () => create(HelloResponseSchema, { protocol: 99, build: "of tomorrow", pid: process.pid })),
    quit: answer(async () => {
      setTimeout(() => process.exit(0), 150);
      return create(QuitResponseSchema);
    }),
  }),
);
process.stdout.write("serving\n");
