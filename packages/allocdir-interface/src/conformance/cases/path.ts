import assert from "node:assert/strict";
import type { CaseBench, ConformanceCase, Need } from "../case.ts";
import type { AllocDirReason } from "../../alloc-dir-error.ts";
import { drain, failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";

const soon = (): AbortSignal => AbortSignal.timeout(2_000);

/** Every way into a tree by a path. */
const asks = (t: CaseBench, path: string): Record<string, () => Promise<unknown>> => ({
  list: () => t.alloc.list(path),
  stat: () => t.alloc.stat(path),
  readAt: () => t.alloc.readAt(path, 0),
  identify: () => t.alloc.identify(path),
  blockUntilExists: () => t.alloc.blockUntilExists(path, { signal: soon() }),
  changeEvents: () => t.alloc.changeEvents(path, 0, { signal: soon() })[Symbol.asyncIterator]().next(),
});

async function refusedBy(
  t: CaseBench,
  path: string,
  reason: AllocDirReason | readonly AllocDirReason[],
): Promise<void> {
  for (const [name, ask] of Object.entries(asks(t, path))) {
    const error = await refused(ask, reason, `${name} of ${JSON.stringify(path.slice(0, 60))}`);
    ok(!error.message.includes(t.alloc.allocDirPath), `${name}: the message names the host's path`);
  }
}

const text = async (t: CaseBench, path: string): Promise<string> =>
  (await drain(await t.alloc.readAt(path, 0))).toString();

const leads = (
  id: string,
  title: string,
  links: Record<string, string>,
  paths: readonly string[],
): ConformanceCase => ({
  id: `path/${id}`,
  title,
  needs: ["symlinks"],
  async run(t) {
    for (const [path, target] of Object.entries(links))
      await t.hands.symlink(target.replace("OUTSIDE", t.outside), path);
    for (const path of paths) await refusedBy(t, path, "PATH_ESCAPES");
  },
});

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

/** Which paths lead where: each published attack is a case here, or with snapshots and moves. */
export const PATH_CASES: readonly ConformanceCase[] = [
  {
    id: "path/dotdot-refused",
    title: "dots that leave the allocation are refused before any file is looked at",
    async run(t) {
      for (const path of [
        "..",
        "../",
        "../x",
        "/..",
        "/../etc/passwd",
        "web/../..",
        "web/../../x",
        "nothing/../../etc",
        "web/local/../../../x",
      ])
        await refusedBy(t, path, "PATH_ESCAPES");
      const error = await failureOf(() => t.alloc.stat("../x"), "stat of ../x");
      assert.match(error.message, /Path escapes the alloc directory/);
      assert.equal(error.path, "../x");
    },
  },
  {
    id: "path/dotdot-inside",
    title: "dots that stay inside are followed",
    async run(t) {
      await t.hands.write("web/local/f", "inside");
      assert.equal(await text(t, "alloc/../web/local/../local/f"), "inside");
      assert.equal(await text(t, "./web/./local/f"), "inside");
    },
  },
  {
    id: "path/leading-slash",
    title: "a leading slash means the allocation's own root",
    async run(t) {
      await t.hands.write("web/local/f", "inside");
      assert.equal(await text(t, "/web/local/f"), "inside");
      assert.equal(await text(t, "//web///local//f"), "inside");
      assert.deepEqual(await t.alloc.list("/"), await t.alloc.list(""));
    },
  },
  {
    id: "path/dot-names",
    title: "names that begin with dots are ordinary names",
    async run(t) {
      for (const name of ["..foo", "...", ".hidden", "..."]) {
        await t.hands.write(`web/local/${name}`, name);
        assert.equal(await text(t, `web/local/${name}`), name);
      }
      await refused(() => t.alloc.stat("..foo"), "NOT_FOUND", "stat of ..foo");
    },
  },
  {
    id: "path/nul-refused",
    title: "a path with NUL or half a character is no path",
    async run(t) {
      for (const path of ["web/local/f\0", "\0", "web\0/local", "web/\ud800", "\udc00"])
        await refusedBy(t, path, "BAD_PATH");
    },
  },
  {
    id: "path/length-limited",
    title: "a path of more than 4096 characters is refused, a name of more than 255 is an error",
    async run(t) {
      await refusedBy(t, "a/".repeat(2_100), "BAD_PATH");
      const error = await failureOf(() => t.alloc.stat(`web/local/${"x".repeat(300)}`), "a long name");
      ok(!error.message.includes(t.alloc.allocDirPath));
    },
  },
  leads(
    "absolute-link-refused",
    "a link to a place of the machine is an escape, as file, as folder and on the way",
    { "web/local/file": "OUTSIDE/canary", "web/local/dir": "OUTSIDE", "alloc/data/root": "/" },
    ["web/local/file", "web/local/dir", "web/local/dir/canary", "alloc/data/root/etc/passwd", "alloc/data/root/.."],
  ),
  leads(
    "relative-link-out-refused",
    "a link that climbs out of the allocation is an escape",
    { "web/local/up": "../../..", "web/local/far": "../../../../../../../../../etc/passwd", "alloc/up": "../../x" },
    ["web/local/up", "web/local/up/canary", "web/local/far", "alloc/up"],
  ),
  leads(
    "dangling-link-out-refused",
    "a link out is an escape although there is nothing there",
    { "web/local/a": "/nonexistent/file", "web/local/b": "../../../nonexistent" },
    ["web/local/a", "web/local/b", "web/local/a/x"],
  ),
  {
    id: "path/sibling-with-the-same-prefix",
    title: "another allocation whose id begins the same is outside",
    needs: ["symlinks"],
    async run(t) {
      const other = await t.another();
      await other.alloc.build();
      await other.hands.write("alloc/data/f", "other");
      await t.hands.symlink(`../../../${other.alloc.allocId}/alloc/data/f`, "web/local/a");
      await t.hands.symlink(`${t.alloc.allocDirPath}-other/f`, "web/local/b");
      await t.hands.symlink(`${other.alloc.allocDirPath}/alloc/data/f`, "web/local/c");
      for (const name of ["a", "b", "c"]) await refusedBy(t, `web/local/${name}`, "PATH_ESCAPES");
    },
  },
  {
    id: "path/absolute-link-inside-refused",
    title: "an absolute link is an escape even to the allocation itself: its own path is the host's",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.write("web/local/f", "x");
      await t.hands.symlink(`${t.alloc.allocDirPath}/web/local/f`, "web/local/link");
      await refusedBy(t, "web/local/link", "PATH_ESCAPES");
    },
  },
  {
    id: "path/link-inside-followed",
    title: "links inside are followed from where they stand, also several and on the way",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.mkdir("web/local/a/b");
      await t.hands.write("web/local/a/f", "found");
      await t.hands.write("alloc/data/shared", "shared");
      await t.hands.symlink("../f", "web/local/a/b/up");
      await t.hands.symlink("a/b", "web/local/dir");
      await t.hands.symlink("dir/up", "web/local/twice");
      await t.hands.symlink("../../alloc/data/shared", "web/local/shared");
      await t.hands.symlink("../web/local", "alloc/back");
      for (const path of ["web/local/a/b/up", "web/local/dir/up", "web/local/twice", "alloc/back/twice"])
        assert.equal(await text(t, path), "found", path);
      assert.equal(await text(t, "web/local/shared"), "shared");
      assert.deepEqual(
        (await t.alloc.list("web/local/dir")).map((entry) => entry.Name),
        ["up"],
      );
    },
  },
  {
    id: "path/dangling-link-inside-is-missing",
    title: "a link to nothing inside is a missing file",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.symlink("nothing", "web/local/a");
      await refused(() => t.alloc.stat("web/local/a"), "NOT_FOUND", "stat");
      await refused(() => t.alloc.readAt("web/local/a", 0), "NOT_FOUND", "readAt");
      assert.equal(await t.alloc.identify("web/local/a"), undefined);
    },
  },
  {
    id: "path/link-loop",
    title: "links in a circle are an error, not an endless search",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.symlink("b", "web/local/a");
      await t.hands.symlink("a", "web/local/b");
      await t.hands.symlink("self/x", "web/local/self");
      for (const path of ["web/local/a", "web/local/self"]) await refusedBy(t, path, "LOOP");
    },
  },
  {
    id: "path/file-on-the-way",
    title: "a file is no folder on the way, not even before dots",
    async run(t) {
      await t.hands.write("web/local/f", "x");
      for (const path of ["web/local/f/x", "web/local/f/..", "web/local/f/x/y"])
        await refused(() => t.alloc.stat(path), "NOT_DIRECTORY", path);
    },
  },
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
        assert.equal(await text(t, `${path}/f`), path);
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
      assert.equal(await text(t, "alloc/data/b"), "x");
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
  {
    id: "path/exchanged-folder",
    title: "a folder exchanged for a link while requests walk it never shows what is outside",
    needs: ["symlinks", "raceFree"],
    async run(t) {
      await t.hands.mkdir("web/local/dir");
      await t.hands.write("web/local/dir/canary", "inside!");
      await t.hands.symlink(t.outside, "web/local/link");
      let over = false;
      const exchange = async (): Promise<void> => {
        while (!over) {
          await t.hands.rename("web/local/dir", "web/local/aside");
          await t.hands.rename("web/local/link", "web/local/dir");
          await Promise.resolve();
          await new Promise((resolve) => setImmediate(resolve));
          await t.hands.rename("web/local/dir", "web/local/link");
          await t.hands.rename("web/local/aside", "web/local/dir");
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const walk = async (): Promise<void> => {
        for (let i = 0; i < 60; i++) {
          const found = await Promise.all([
            text(t, "web/local/dir/canary").catch((reason: unknown) => reason),
            t.alloc.stat("web/local/dir/canary").catch((reason: unknown) => reason),
          ]);
          if (typeof found[0] === "string") assert.equal(found[0], "inside!");
          if (!(found[1] instanceof Error)) assert.equal((found[1] as { Size: number }).Size, 7);
        }
      };
      const running = exchange();
      try {
        await Promise.all([walk(), walk()]);
      } finally {
        over = true;
        await running;
      }
    },
  },
  {
    id: "path/fifo-not-opened",
    title: "stat of a log fifo answers without taking a line out of it, and reading it is refused",
    needs: ["fifos"],
    async run(t) {
      await t.hands.mkfifo("alloc/logs/.web.stdout.fifo");
      const ends = await t.hands.openFifo("alloc/logs/.web.stdout.fifo");
      try {
        ends.write("a log line\n");
        const info = await t.within(t.alloc.stat("alloc/logs/.web.stdout.fifo"), "stat of a fifo", 2_000);
        assert.match(info.FileMode, /^p/);
        await refused(
          () => t.within(t.alloc.readAt("alloc/logs/.web.stdout.fifo", 0), "readAt of a fifo", 2_000),
          "NOT_REGULAR",
          "readAt",
        );
        await t.alloc.list("alloc/logs");
        assert.equal(ends.take(), "a log line\n");
      } finally {
        ends.close();
      }
    },
  },
  {
    id: "path/fifo-without-writer",
    title: "fifos that nobody writes to hold up nothing, however many are asked for",
    needs: ["fifos"],
    async run(t) {
      const paths = Array.from({ length: 8 }, (_, i) => `web/local/f${i}`);
      for (const path of paths) await t.hands.mkfifo(path);
      await t.within(Promise.all(paths.map((path) => t.alloc.stat(path))), "stat of fifos", 2_000);
      await t.within(
        Promise.all(paths.map((path) => refused(() => t.alloc.readAt(path, 0), "NOT_REGULAR", path))),
        "readAt of fifos",
        2_000,
      );
      await t.within(t.alloc.list("web/local"), "list beside fifos", 2_000);
    },
  },
  {
    id: "path/socket-not-opened",
    title: "a socket is shown, and not read",
    needs: ["sockets"],
    async run(t) {
      await t.hands.socket("web/local/s");
      assert.match((await t.alloc.stat("web/local/s")).FileMode, /^S/);
      await refused(() => t.alloc.readAt("web/local/s", 0), "NOT_REGULAR", "readAt");
    },
  },
  {
    id: "path/link-to-fifo",
    title: "a link to a fifo is as little opened as the fifo",
    needs: ["fifos", "symlinks"],
    async run(t) {
      await t.hands.mkfifo("web/local/f");
      await t.hands.symlink("f", "web/local/link");
      await refused(() => t.within(t.alloc.readAt("web/local/link", 0), "readAt", 2_000), "NOT_REGULAR", "readAt");
      assert.match((await t.within(t.alloc.stat("web/local/link"), "stat", 2_000)).FileMode, /^p/);
    },
  },
];
