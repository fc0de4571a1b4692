/** Child of the kill −9 test: an agent whose tasks are made up, in a folder of its own. */
import { buildAgent, resolveAgentConfig } from "../../src/agent/index.ts";
import { fakeDrivers } from "./fake-drivers.ts";
import { FakeRunners } from "./fake-runner.ts";

const [dataDir = ""] = process.argv.slice(2);
const runners = new FakeRunners();
runners.behaviour = (alloc) => (alloc.JobID.startsWith("batch") ? { exitCode: 0 } : { healthy: true });
const config = resolveAgentConfig({ dataDir, port: "0" }, {});
const roomy = { ...config.clientOptions, memoryTotalMB: 1_000_000, cpuTotalCompute: 1_000_000 };
const agent = await buildAgent(
  { ...config, clientOptions: roomy },
  { buildRunner: runners.build, drivers: fakeDrivers(), hostEnv: {} },
);
await agent.start();
await agent.ready;
process.stdout.write(`${agent.http.address}\n`);
