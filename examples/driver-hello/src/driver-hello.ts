/** A task driver that says hello: `driver = "hello"`, `config { name = "world" every = 2 }`. */
import { defineDriver, schema } from "@outrider/plugin-driver";
import { recoverProcess, serve, spawnProcess } from "@outrider/plugin-driver/serve";

const SCRIPT =
  'trap "exit 0" INT; n=0; while [ "$3" -eq 0 ] || [ $n -lt "$3" ]; do echo "$1"; n=$((n + 1)); sleep "$2"; done';

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
  }),
  capabilities: { exec: true },
  fingerprint: () => ({ attributes: { "driver.hello": { value: true } } }),
  start: (task, { name, greeting, every, times }) =>
    spawnProcess(task, {
      command: "/bin/sh",
      args: ["-c", SCRIPT, "hello", `${greeting}, ${name}!`, String(every), String(times)],
    }),
  recover: recoverProcess,
});

void serve(driver, { module: "hello" });
