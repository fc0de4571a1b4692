import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { cleanEnv, exec, LONG, MAIN } from "./harness.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/kill-rounds.mjs", import.meta.url));

it(
  "the kill rounds find nothing: no orphan, no double, no lost exit code, no lost byte, no foreign process",
  { timeout: 900_000 },
  async () => {
    const args = [SCRIPT, "--main", MAIN, "--rounds", LONG ? "25" : "5", "--tasks", "20", "--seed", "5"];
    const done = await exec(process.execPath, args, cleanEnv(), "/", 600_000);
    expect([done.stdout, done.code]).toEqual([expect.stringContaining("foreign processes hit    0"), 0]);
  },
);
