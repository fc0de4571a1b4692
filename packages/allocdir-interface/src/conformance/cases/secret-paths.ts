import assert from "node:assert/strict";
import type { CaseBench, ConformanceCase, Need } from "../case.ts";
import { failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";
import { refusedBy, textAt } from "../ways-in.ts";

const closed = (kind: "secrets" | "private"): ConformanceCase => ({
  id: `path/${kind}-closed`,
  title: `${kind} is seen in its task's folder, but nothing in it can be listed, stat'ed, read or waited for`,
  async run(t) {
    const reason = kind === "secrets" ? "SECRET_FILE" : "PRIVATE_FILE";
    await t.hands.write(`web/${kind}/token`, "s3cr3t");
    await t.hands.mkdir(`web/${kind}/deep`);
    await t.hands.write(`web/${kind}/deep/token`, "s3cr3t");
    ok((await t.alloc.list("web")).some((entry) => entry.Name === kind));
    ok((await t.alloc.stat(`web/${kind}`)).IsDir);
    await refused(() => t.alloc.list(`web/${kind}`), reason, "list");
    for (const path of [
      `web/${kind}/token`,
      `/web//${kind}/./token`,
      `web/local/../${kind}/token`,
      `web/${kind}/deep/token`,
    ])
      await refusedBy(t, path, reason);
    await refusedBy(t, `web/${kind}/absent`, reason);
  },
});

const leak = (
  id: string,
  kind: "secrets" | "private",
  needs: readonly Need[],
  make: (t: CaseBench) => Promise<string[]>,
): ConformanceCase => ({
  id: `path/${id}`,
  title: `${kind} is not reached by a ${id.split("-")[0] === "hard" ? "second name" : "link"}`,
  needs,
  async run(t) {
    await t.hands.write(`web/${kind}/token`, "s3cr3t");
    for (const path of await make(t)) {
      const error = await refused(
        () => t.alloc.readAt(path, 0),
        kind === "secrets" ? "SECRET_FILE" : "PRIVATE_FILE",
        `readAt of ${path}`,
      );
      assert.match(error.message, kind === "secrets" ? /secret/i : /private/i);
      const info = await t.alloc.stat(path).catch((reason: unknown) => reason);
      ok(info instanceof Error, `stat of ${path} answered`);
    }
  },
});

/** No way into secrets and private. */
export const SECRET_PATH_CASES: readonly ConformanceCase[] = [
  closed("secrets"),
  closed("private"),
  {
    id: "path/secrets-of-unknown-tasks-closed",
    title: "secrets of a task that nobody registered are closed as well",
    async run(t) {
      for (const kind of ["secrets", "private"] as const) {
        await t.hands.mkdir(`ghost/${kind}`);
        await t.hands.write(`ghost/${kind}/token`, "s3cr3t");
        await refusedBy(t, `ghost/${kind}/token`, kind === "secrets" ? "SECRET_FILE" : "PRIVATE_FILE");
      }
    },
  },
  {
    id: "path/names-like-secrets-open",
    title: "folders that are only called alike are open",
    async run(t) {
      for (const path of ["web/secrets-public", "web/local/secrets", "web/secretsx", "alloc/data/private"]) {
        await t.hands.mkdir(path);
        await t.hands.write(`${path}/f`, path);
        assert.equal(await textAt(t, `${path}/f`), path);
      }
    },
  },
  {
    id: "path/other-spelling",
    title: "another spelling of secrets shows nothing of them",
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      for (const path of ["web/Secrets/token", "web/SECRETS/token", "WEB/secrets/token"])
        await failureOf(() => t.alloc.readAt(path, 0), path);
    },
  },
  leak("link-into-secrets-refused", "secrets", ["symlinks"], async (t) => {
    await t.hands.symlink("../secrets", "web/local/dir");
    await t.hands.symlink("../secrets/token", "web/local/file");
    return ["web/local/dir/token", "web/local/file"];
  }),
  leak("link-into-private-refused", "private", ["symlinks"], async (t) => {
    await t.hands.symlink("../private", "web/local/dir");
    await t.hands.symlink("../../web/private/token", "alloc/logs/web.stdout.0");
    return ["web/local/dir/token", "alloc/logs/web.stdout.0"];
  }),
  leak("hard-link-into-secrets-refused", "secrets", ["hardLinks", "plainSecrets"], async (t) => {
    await t.hands.mkdir("web/secrets/deep");
    await t.hands.write("web/secrets/deep/token", "s3cr3t");
    await t.hands.link("web/secrets/token", "web/local/a");
    await t.hands.link("web/secrets/deep/token", "alloc/data/b");
    return ["web/local/a", "alloc/data/b"];
  }),
  {
    id: "path/hard-link-elsewhere-open",
    title: "files with several names outside of secrets are files like others",
    needs: ["hardLinks"],
    async run(t) {
      await t.hands.write("web/local/a", "x");
      await t.hands.link("web/local/a", "alloc/data/b");
      assert.equal(await textAt(t, "alloc/data/b"), "x");
    },
  },
  {
    id: "path/renamed-secrets-closed",
    title: "secrets stay closed under another name that the task gave them",
    needs: ["plainSecrets"],
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      await t.hands.mkdir("job");
      await t.hands.rename("web/secrets", "job/secrets");
      await refused(() => t.alloc.readAt("job/secrets/token", 0), "SECRET_FILE", "moved to another task");
    },
  },
];
