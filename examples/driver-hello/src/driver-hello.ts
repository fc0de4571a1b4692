/** A task driver that says hello: `driver = "hello"`, `config { name = "world" every = 2 }`. */
import { defineDriver, RecoverableError, schema } from "@outrider/plugin-driver";
import { recoverProcess, serve, spawnProcess } from "@outrider/plugin-driver/serve";

/** Ends by SIGINT, which agents send first; SIGUSR1 makes it greet once more. */
const SCRIPT = `trap 'exit 0' INT; trap 'echo "$1 Again!"' USR1; n=0
while [ "$3" -eq 0 ] || [ $n -lt "$3" ]; do echo "$1"; n=$((n + 1)); sleep "$2"; done; exit "$4"`;

const driver = defineDriver({
  name: "hello",
  version: "0.1.0",
  taskConfig: schema.object({
    name: schema.string().required(),
    greeting: schema.string().default("hello"),
    /** Seconds between two greetings. */
    every: schema.number().default(1),
    /** How many greetings; 0 = without end. */
    times: schema.number().default(0),
    exit_code: schema.number().default(0),
  }),
  capabilities: { exec: true },
  fingerprint: () => ({ attributes: { "driver.hello": { value: true } } }),
  start: (task, { name, greeting, every, times, exit_code: exitCode }) => {
    if (!(every > 0)) throw new RecoverableError(`config.every: must be more than 0, but is ${every}`, false);
    const words = [`${greeting}, ${name}!`, every, times, exitCode].map(String);
    return spawnProcess(task, { command: "/bin/sh", args: ["-c", SCRIPT, "hello", ...words] });
  },
  recover: recoverProcess,
});

void serve(driver, { module: "hello" });
