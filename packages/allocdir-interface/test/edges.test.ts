import type { BigIntStats } from "node:fs";
import {
  chmodSync,
  closeSync,
  openSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemError } from "../src/alloc-dir-error.ts";
import { fileMode, modTime } from "../src/file-mode.ts";
import { AllocDirError, taskLogs, type FileReader, type LogSource, streamFile } from "../src/index.ts";
import type { Clock } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";
import { createSystemMounter, sweepDestroyed } from "../src/local/index.ts";
import { makeDir } from "../src/local/make-dir.ts";
import { nobodyOf } from "../src/local/nobody.ts";
import { removeTree } from "../src/local/remove-tree.ts";
import { SafeRoot } from "../src/safe-root.ts";
import { WatchHub } from "../src/watch/watch-hub.ts";
import { tempAlloc } from "./temp-alloc.ts";

const stats = (kind: string, mode: number): BigIntStats =>
  Object.fromEntries([
    ["mode", BigInt(mode)],
    ...["Directory", "SymbolicLink", "BlockDevice", "CharacterDevice", "FIFO", "Socket", "File"].map((k) => [
      `is${k}`,
      () => k === kind,
    ]),
  ]) as unknown as BigIntStats;

describe("modes in Go's words", () => {
  it.each([
    ["File", 0o644, "-rw-r--r--"],
    ["File", 0o4755, "urwxr-xr-x"],
    ["File", 0o2755, "grwxr-xr-x"],
    ["Directory", 0o1777, "dtrwxrwxrwx"],
    ["SymbolicLink", 0o777, "Lrwxrwxrwx"],
    ["BlockDevice", 0o660, "Drw-rw----"],
    ["CharacterDevice", 0o666, "Dcrw-rw-rw-"],
    ["FIFO", 0o600, "prw-------"],
    ["Socket", 0o755, "Srwxr-xr-x"],
  ])("%s %o is %s", (kind, mode, text) => expect(fileMode(stats(kind, mode))).toBe(text));

  it("times have as many digits as they need", () => {
    expect([modTime(0n), modTime(1_500_000_000_120_000_000n), modTime(1n)]).toEqual([
      "1970-01-01T00:00:00Z",
      "2017-07-14T02:40:00.12Z",
      "1970-01-01T00:00:00.000000001Z",
    ]);
  });
});

it("system errors keep their cause, and what is none is told as it is", () => {
  const io = Object.assign(new Error("x"), { code: "EACCES" });
  expect(systemError(io, "a")).toMatchObject({
    code: "ERR_OUTRIDER_ALLOCDIR_IO",
    message: '"a": EACCES',
    cause: io,
    path: "a",
  });
  expect(systemError("odd", "a").message).toBe('"a": odd');
  expect(systemError(null, "a").message).toBe('"a": null');
  const own = systemError(io, "b");
  expect(systemError(own, "c")).toBe(own);
});

describe("resolving", () => {
  it("goes back up by dots in links, stops at files on the way, and sees a directory exchanged for a link", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    mkdirSync(join(local, "a/b"), { recursive: true });
    writeFileSync(join(local, "a/f"), "f");
    symlinkSync("b/../f", join(local, "a/link"));
    symlinkSync(".", join(local, "a/here"));
    expect(await t.alloc.stat("web/local/a/link")).toMatchObject({ Name: "f" });
    expect(await t.alloc.stat("web/local/a/here/here/f")).toMatchObject({ Name: "f" });
    expect(await t.alloc.stat("web/local/a/b/..")).toMatchObject({ Name: "a", IsDir: true });
    await expect(t.alloc.stat("web/local/a/f/..")).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY",
    });
    const root = await SafeRoot.open(t.alloc.allocDirPath);
    expect(
      await root.at("web/local/a/link", { follow: false, enter: () => undefined }, (p) =>
        Promise.resolve(p.stats.isSymbolicLink()),
      ),
    ).toBe(true);
    await root.at("web/local", { follow: true, enter: () => undefined }, async (place) => {
      expect(await root.entry(place, "gone")).toBeUndefined();
      await expect(root.entry(place, "x".repeat(300))).rejects.toMatchObject({ code: "ENAMETOOLONG" });
    });
    await root.close();
  });

  it("skips files where tasks would have their secrets, and stray files beside tasks", async () => {
    await using t = await tempAlloc();
    const base = t.alloc.allocDirPath;
    writeFileSync(join(base, "stray"), "x");
    mkdirSync(join(base, "odd"));
    writeFileSync(join(base, "odd/secrets"), "not a folder");
    writeFileSync(join(base, "odd/linked"), "y");
    const { linkSync } = await import("node:fs");
    linkSync(join(base, "odd/linked"), join(base, "odd/other"));
    mkdirSync(join(base, "web/secrets/deep"));
    await using reader = await t.alloc.readAt("odd/linked", 0);
    expect((await reader.read(3)).length).toBe(1);
    expect(await t.alloc.stat("odd/secrets")).toMatchObject({ Size: 12 });
  });
});

describe("a followed file that loses its name", () => {
  it("is read to its end first, within a limit", async () => {
    await using t = await tempAlloc();
    const path = join(t.alloc.allocDirPath, "web/local/f");
    writeFileSync(path, "abcdef");
    const fs = {
      list: t.alloc.list.bind(t.alloc),
      stat: t.alloc.stat.bind(t.alloc),
      // The name goes between the last read and the look at it, with bytes in between.
      readAt: async (p: string, offset: number) => {
        const reader = await t.alloc.readAt(p, offset);
        const read = reader.read.bind(reader);
        let empty = 0;
        return {
          get position() {
            return reader.position;
          },
          identity: reader.identity,
          size: () => reader.size(),
          close: () => reader.close(),
          read: async (max: number) => {
            const data = await read(Math.min(max, 4));
            if (data.length === 0 && empty++ === 0) {
              writeFileSync(path, "ghijkl", { flag: "a" });
              unlinkSync(path);
            }
            return data;
          },
          [Symbol.asyncDispose]: () => reader.close(),
        };
      },
      identify: t.alloc.identify.bind(t.alloc),
      changeEvents: t.alloc.changeEvents.bind(t.alloc),
    };
    const all = async (limit: number): Promise<string> => {
      let text = "";
      for await (const f of streamFile(
        fs,
        { path: "web/local/f", offset: 0, origin: "start", follow: true, limit },
        { signal: new AbortController().signal },
      )) {
        text += f.fileEvent ? `[${f.fileEvent}]` : Buffer.from(f.data ?? []).toString();
      }
      return text;
    };
    expect(await all(0)).toBe("abcdefghijkl[file deleted]");
    writeFileSync(path, "abcdef");
    expect(await all(8)).toBe("abcdefgh");
  });
});

describe("deleting a tree", () => {
  it("takes what changes its kind meanwhile for what it is, and nothing for what has gone", async () => {
    await using t = await tempAlloc();
    const dir = join(t.root, "doomed");
    await removeTree(dir, "doomed");
    mkdirSync(join(dir, "a/b"), { recursive: true });
    symlinkSync("/etc", join(dir, "a/link"));
    writeFileSync(join(dir, "a/b/f"), "");
    chmodSync(join(dir, "a"), 0o500);
    await removeTree(dir, "doomed");
    expect(existsSync(dir)).toBe(false);
    writeFileSync(join(t.root, "file"), "");
    await expect(removeTree(join(t.root, "file"), "file")).rejects.toThrow();
  });

  it.skipIf(process.geteuid?.() !== 0)(
    "never goes into another file system, and says what is in the way (as root)",
    async () => {
      await using t = await tempAlloc();
      const mounter = createSystemMounter();
      const dir = join(t.root, "doomed");
      mkdirSync(join(dir, "a/mounted"), { recursive: true });
      await mounter.mountTmpfs(join(dir, "a/mounted"), 1);
      writeFileSync(join(dir, "a/mounted/kept"), "");
      await expect(removeTree(dir, "doomed")).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_BUSY" });
      expect(existsSync(join(dir, "a/mounted/kept"))).toBe(true);
      await mounter.unmount(join(dir, "a/mounted"));
      await mounter.mountTmpfs(join(dir, "a/mounted"), 1);
      writeFileSync(join(dir, "a/mounted/busy"), "");
      const held = openSync(join(dir, "a/mounted/busy"), "r");
      await expect(mounter.unmount(join(dir, "a/mounted"))).rejects.toMatchObject({ code: "EBUSY" });
      closeSync(held);
      await mounter.unmount(join(dir, "a/mounted"), { lazy: true });
      await removeTree(dir, "doomed");
      expect(existsSync(dir)).toBe(false);
    },
  );

  it("stays anchored when the tree is moved away while it is deleted", async () => {
    await using t = await tempAlloc();
    const dir = join(t.root, "doomed");
    for (let i = 0; i < 60; i++) mkdirSync(join(dir, `d${i}/x`), { recursive: true });
    const outside = join(t.root, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "kept"), "");
    const done = removeTree(dir, "doomed");
    renameSync(dir, join(t.root, "moved"));
    symlinkSync(outside, dir);
    await done.catch(() => undefined);
    expect(readdirSync(outside)).toEqual(["kept"]);
    unlinkSync(dir);
    await sweepDestroyed(t.root);
    expect(statSync(outside).isDirectory()).toBe(true);
  });
});

describe("the small cases", () => {
  it("a folder may be called like a document, a closed reader says so, and mounts are no matter without root", async () => {
    const t = await tempAlloc();
    mkdirSync(join(t.alloc.allocDirPath, "web/local/x.json"));
    expect(await t.alloc.stat("web/local/x.json")).toMatchObject({ IsDir: true, ContentType: "application/json" });
    writeFileSync(join(t.alloc.allocDirPath, "web/local/f"), "f");
    const reader = await t.alloc.readAt("web/local/f", 0);
    await reader.close();
    await reader.close();
    await expect(reader.read(1)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_IO" });
    await t.alloc.unmountAll();
    await t.alloc.getTaskDir("web")?.unmount();
    await t.alloc[Symbol.asyncDispose]();
    expect(t.alloc.state).toBe("destroyed");
    await t[Symbol.asyncDispose]();
  });

  it("a tree that cannot be renamed is left as it is, with the error", async () => {
    await using t = await tempAlloc();
    mkdirSync(join(t.root, "in"));
    renameSync(t.alloc.allocDirPath, join(t.root, "in/it"));
    symlinkSync("in/it/nothing/there", t.alloc.allocDirPath);
    unlinkSync(t.alloc.allocDirPath);
    await t.alloc.destroy();
    expect(existsSync(join(t.root, "in/it/web"))).toBe(true);
  });
});

describe("around mounts and owners", () => {
  it("leaves out an option that old kernels do not know, and tells busy from broken", async () => {
    const calls: string[][] = [];
    const mounter = createSystemMounter((program, args) => {
      calls.push([program, ...args]);
      return args.some((a) => a.includes("noswap")) ? Promise.reject(new Error("unknown option")) : Promise.resolve();
    });
    await mounter.mountTmpfs("/x", 3);
    await mounter.unmount("/x");
    await mounter.unmount("/x", { lazy: true });
    expect(calls).toEqual([
      ["mount", "-t", "tmpfs", "-o", "noexec,size=3m,noswap", "tmpfs", "/x"],
      ["mount", "-t", "tmpfs", "-o", "noexec,size=3m", "tmpfs", "/x"],
      ["umount", "/x"],
      ["umount", "-l", "/x"],
    ]);
    await expect(createSystemMounter().unmount("/nonexistent/mount")).rejects.toMatchObject({ code: "EIO" });
  });

  it("finds nobody, or takes the kernel's", () => {
    expect(nobodyOf("root:x:0:0::/:/bin/sh\nnobody:x:99:98:n:/:/sbin/nologin\n")).toEqual({ uid: 99, gid: 98 });
    expect(nobodyOf("")).toEqual({ uid: 65_534, gid: 65_534 });
    expect(nobodyOf("nobody:x:abc:1::/:")).toEqual({ uid: 65_534, gid: 65_534 });
  });

  it("does not hide that a directory cannot be made", async () => {
    expect(() => makeDir("/proc/nothing-here/x", 0o755, undefined, "x")).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
    await using t = await tempAlloc();
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    expect(makeDir(join(t.alloc.allocDirPath, "made"), 0o711, owner, "made")).toBe(true);
    expect(statSync(join(t.alloc.allocDirPath, "made")).mode & 0o777).toBe(0o711);
  });
});

describe("logs of a task whose files come and go", () => {
  interface FakeFile {
    text: string;
    gone?: boolean;
  }

  /** Files in memory, by number; one marked as gone is listed but cannot be opened. */
  function fakeFs(files: Map<number, FakeFile>, clock: Clock = new ManualClock()): LogSource {
    const missing = (path: string): AllocDirError => new AllocDirError("NOT_FOUND", "no such file or directory", path);
    const fileOf = (path: string): FakeFile | undefined => files.get(Number(path.slice(path.lastIndexOf(".") + 1)));
    let looks = 0n;
    const hub = new WatchHub({
      clock,
      look: (path) =>
        Promise.resolve(
          path === "alloc/logs"
            ? { identity: path, size: 0, mtimeNs: looks++ }
            : fileOf(path) && { identity: path, size: fileOf(path)?.text.length ?? 0, mtimeNs: 0n },
        ),
    });
    return {
      list: () =>
        Promise.resolve(
          [...files].map(([n, f]) => ({
            Name: `t.stdout.${n}`,
            IsDir: false,
            Size: f.text.length,
            FileMode: "-",
            ModTime: "",
            ContentType: "",
          })),
        ),
      changeEvents: (path, size, o) => hub.changeEvents(path, size, o),
      readAt: (path, offset) => {
        const file = fileOf(path);
        if (file === undefined || file.gone) return Promise.reject(missing(path));
        let position = Number(offset);
        const reader: FileReader = {
          get position() {
            return position;
          },
          identity: path,
          size: () => Promise.resolve(file.text.length),
          read: (max) => {
            const data = Buffer.from(file.text.slice(position, position + max));
            position += data.length;
            return Promise.resolve(data);
          },
          close: () => Promise.resolve(),
          [Symbol.asyncDispose]: () => Promise.resolve(),
        };
        return Promise.resolve(reader);
      },
    };
  }
  const request = { task: "t", type: "stdout", offset: 0, origin: "start" } as const;

  it("goes on with the next file when one was purged between the list and the opening", async () => {
    const fs = fakeFs(
      new Map([
        [0, { text: "a", gone: true }],
        [1, { text: "b" }],
        [2, { text: "c" }],
      ]),
    );
    let text = "";
    for await (const f of taskLogs(fs, { ...request, follow: false }, { signal: new AbortController().signal }))
      text += Buffer.from(f.data ?? []).toString();
    expect(text).toBe("bc");
  });

  it("waits for a file when the only one was purged, and reports other failures", async () => {
    const clock = new ManualClock();
    const files = new Map<number, FakeFile>([[0, { text: "a" }]]);
    const fs = fakeFs(files, clock);
    const stop = new AbortController();
    let text = "";
    const done = (async () => {
      for await (const f of taskLogs(
        {
          ...fs,
          readAt: (p, o) =>
            files.has(0) && files.delete(0)
              ? Promise.reject(new AllocDirError("NOT_FOUND", "gone", p))
              : fs.readAt(p, o),
        },
        { ...request, follow: true },
        { signal: stop.signal, clock },
      )) {
        text += Buffer.from(f.data ?? []).toString();
      }
    })().catch((reason: unknown) => reason);
    await clock.advance(500);
    files.set(3, { text: "later" });
    await clock.advance(500);
    expect(text).toBe("later");
    stop.abort(new Error("enough"));
    await clock.advance(500);
    expect(await done).toMatchObject({ message: "enough" });
    const broken = taskLogs(
      {
        ...fs,
        list: () =>
          Promise.resolve([{ Name: "t.stdout.0", IsDir: false, Size: 1, FileMode: "-", ModTime: "", ContentType: "" }]),
        readAt: (p) => Promise.reject(new AllocDirError("IO", "EIO", p)),
      },
      { ...request, follow: false },
      { signal: stop.signal },
    );
    await expect(broken.next()).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_IO" });
  });
});
