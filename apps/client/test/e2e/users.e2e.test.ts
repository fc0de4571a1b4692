/** Tasks of other users: they reach their own directories, nobody else does. */
import { chmodSync, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exec, jobOf, Rig, shTask, until } from "./harness.ts";

const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.log("not root: tasks cannot run as somebody else here");

const rig = new Rig("users");
const log = (alloc: { ID: string }, task = "t", kind = "stdout"): string =>
  readFileOf(alloc, join("alloc", "logs", `${task}.${kind}.0`));

/** A file below an allocation's directory; nothing when it is not there. */
const readFileOf = (alloc: { ID: string }, path: string): string => {
  const file = join(rig.data, "alloc", alloc.ID, path);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

/** What a user without any right sees. */
const as = async (uid: number, ...command: string[]): Promise<string> => {
  const done = await exec(
    "setpriv",
    ["--reuid", String(uid), "--regid", String(uid), "--clear-groups", ...command],
    process.env,
  );
  return `${done.stdout}${done.stderr}`;
};

describe.runIf(isRoot)("a task of another user", () => {
  let mine: { ID: string };
  let shared: { ID: string };
  let roots: { ID: string };

  beforeAll(async () => {
    chmodSync(rig.dir, 0o711);
    await rig.start();
    const write = `id -u; id -G; umask; ulimit -n; ulimit -Hn; ulimit -c
for d in "$NOMAD_ALLOC_DIR" "$NOMAD_TASK_DIR" "$NOMAD_SECRETS_DIR" "$NOMAD_ALLOC_DIR/data"; do echo mine >"$d/file" && cat "$d/file"; done
echo "$HOME $USER"; exec sleep 1000`;
    const config = (script: string): object => ({
      Config: { command: "/bin/sh", args: ["-c", script], umask: "027", ulimit: [{ nofile: "200:300", core: "0" }] },
    });
    await rig.submit(jobOf("mine", [shTask("t", "", { User: "nobody", ...config(write) })]));
    await rig.submit(
      jobOf("shared", [
        shTask("t", `echo one; echo x >"$NOMAD_ALLOC_DIR/from-nobody"; exec sleep 1000`, { User: "nobody" }),
        shTask("u", `echo two; echo x >"$NOMAD_ALLOC_DIR/from-daemon"; exec sleep 1000`, { User: "daemon" }),
      ]),
    );
    await rig.submit(
      jobOf("roots", [shTask("t", `echo secret output; echo s >"$NOMAD_SECRETS_DIR/key"; exec sleep 1000`)]),
    );
    const running = (a: any): boolean => a.ClientStatus === "running";
    mine = await rig.alloc("mine", "runs", running);
    shared = await rig.alloc("shared", "runs", running);
    roots = await rig.alloc("roots", "runs", running);
    // The last that each of them does before it sleeps.
    const done = join(rig.data, "alloc", shared.ID, "alloc");
    await until("all output", () => log(mine).endsWith("nobody\n") || log(mine, "t", "stderr") !== "");
    await until("both files", () => ["from-nobody", "from-daemon"].every((name) => existsSync(join(done, name))));
    await until("the secret", () => readFileOf(roots, "t/secrets/key") === "s\n");
  });
  afterAll(() => rig.close());

  it("has the user's groups and home, its own limits and mask, and writes to all its directories by their absolute paths", () => {
    expect(log(mine, "t", "stderr")).toBe("");
    expect(log(mine).split("\n")).toEqual([
      "65534",
      "65534",
      "0027",
      "200",
      "300",
      "0",
      "mine",
      "mine",
      "mine",
      "mine",
      "/nonexistent nobody",
      "",
    ]);
    const file = statSync(join(rig.data, "alloc", mine.ID, "t", "local", "file"));
    expect([file.uid, file.mode & 0o777]).toEqual([65_534, 0o640]);
  });

  it("has the same limits, mask and user in an exec", async () => {
    const done = await rig.cli(
      "alloc",
      "exec",
      mine.ID,
      "/bin/sh",
      "-c",
      'id -u; umask; ulimit -n; echo more >>"$NOMAD_TASK_DIR/file"; cat "$NOMAD_TASK_DIR/file"',
    );
    expect(done.stdout).toBe("65534\n0027\n200\nmine\nmore\n");
  });

  it("shares a directory with a task of yet another user", () => {
    const folder = join(rig.data, "alloc", shared.ID, "alloc");
    expect(statSync(join(folder, "from-nobody")).uid).toBe(65_534);
    expect(statSync(join(folder, "from-daemon")).uid).toBe(1);
  });

  it("and nobody else can list or read state, logs, secrets or directories", async () => {
    const at = (...parts: string[]): string => join(realpathSync(rig.data), ...parts);
    const shut = [
      ["ls", at()],
      ["ls", at("alloc")],
      ["ls", at("server")],
      ["ls", at("client")],
      ["ls", at("driver")],
      ["cat", at("lock.held")],
      ["cat", at("format")],
      ["ls", at("alloc", mine.ID)],
      ["ls", at("alloc", mine.ID, "alloc", "logs")],
      ["cat", at("alloc", mine.ID, "alloc", "logs", "t.stdout.0")],
      ["cat", at("alloc", mine.ID, "t", "secrets", "file")],
      ["cat", at("alloc", mine.ID, "t", "local", "file")],
      ["ls", at("alloc", mine.ID, "t", "private")],
      ["cat", at("alloc", shared.ID, "t", "secrets", "nothing")],
      ["ls", at("alloc", shared.ID, "t")],
      ["cat", at("alloc", roots.ID, "alloc", "logs", "t.stdout.0")],
      ["cat", at("alloc", roots.ID, "t", "secrets", "key")],
      ["ls", at("alloc", roots.ID)],
    ];
    for (const command of shut) {
      // uid 2 runs none of the tasks
      expect([command.join(" "), await as(2, ...command)]).toEqual([
        command.join(" "),
        expect.stringContaining("Permission denied"),
      ]);
    }
    // and not those of root by one who runs other tasks here
    for (const command of shut.slice(-3)) expect(await as(65_534, ...command)).toContain("Permission denied");
    expect(await as(65_534, "cat", at("alloc", mine.ID, "t", "secrets", "file"))).toBe("mine\n");
  });

  it("keeps all that over a restart of the agent", async () => {
    await rig.end("SIGKILL");
    await rig.start();
    await rig.alloc("mine", "runs", (a) => a.ClientStatus === "running");
    const mode = (...parts: string[]): string => (statSync(join(rig.data, ...parts)).mode & 0o777).toString(8);
    expect([mode(), mode("alloc"), mode("driver"), mode("server"), mode("client")]).toEqual([
      "711",
      "711",
      "700",
      "700",
      "700",
    ]);
    expect([mode("alloc", mine.ID), mode("alloc", mine.ID, "alloc"), mode("alloc", mine.ID, "t")]).toEqual([
      "711",
      "700",
      "700",
    ]);
    expect([mode("alloc", roots.ID), mode("alloc", shared.ID)]).toEqual(["700", "711"]);
  });

  it("is refused by name when it is unknown, or a limit is none", async () => {
    const failed = async (id: string, more: object): Promise<string> => {
      await rig.submit(jobOf(id, [shTask("t", "exit 0", more as Record<string, unknown>)], { type: "batch" }));
      const alloc = await rig.alloc(id, "fails", (a) => a.ClientStatus === "failed");
      return JSON.stringify(alloc.TaskStates.t.Events);
    };
    expect(await failed("stranger", { User: "no-such-user-here" })).toContain("unknown user");
    const config = { command: "/bin/true" };
    expect(await failed("limit", { Config: { ...config, ulimit: [{ files: "1" }] } })).toContain("is no limit");
    expect(await failed("soft", { Config: { ...config, ulimit: [{ nofile: "9:1" }] } })).toContain(
      "above its hard limit",
    );
    expect(await failed("mask", { Config: { ...config, umask: "999" } })).toContain("octal");
  });
});
