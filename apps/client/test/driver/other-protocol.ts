/**
 * A driver process of another age, which holds the folder. `tomorrow` speaks a protocol that nobody knows, but understands "leave";
 * `yesterday` hangs up on whoever says what it does not understand.
 */
import { createServer } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readBootId, readProcStat } from "../../src/driver/process-driver/identity.ts";
import { lockFolder } from "../../src/driver/process-driver/lock.ts";
import { serveFrames } from "../../src/driver/process-driver/rpc/frame-server.ts";
import { openStateFolder, PROCESS_SOCKET } from "../../src/driver/process-driver/state-folder.ts";

const folder = openStateFolder(process.argv[2] as string);
if (!(await lockFolder(folder.path))) process.exit(3);
const path = folder.socket(PROCESS_SOCKET);
if (process.argv[3] === "yesterday") {
  await new Promise<void>((resolve) => {
    createServer((socket) => socket.on("data", () => socket.destroy())).listen(path, resolve);
  });
  const { startTime } = readProcStat(process.pid) ?? {};
  const self = { pid: process.pid, startTime, bootId: readBootId(), protocol: 1, build: "of yesterday" };
  writeFileSync(join(folder.path, "driver.json"), JSON.stringify(self));
} else {
  await serveFrames(path, {
    calls: {
      hello: async () => ({ protocol: 99, build: "of tomorrow", pid: process.pid, startTime: "1" }),
      quit: async () => {
        setTimeout(() => process.exit(0), 150);
      },
    },
    streams: {},
  });
}
process.stdout.write("serving\n");
