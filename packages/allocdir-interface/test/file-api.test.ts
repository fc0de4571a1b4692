import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempAlloc } from "./temp-alloc.ts";

const code = (reason: string): object => expect.objectContaining({ code: `ERR_OUTRIDER_ALLOCDIR_${reason}` });

describe("the file API on a hostile tree", () => {
  it("lets any number of readers be open without a warning", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "web/local/a"), "a");
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const readers = await Promise.all(Array.from({ length: 20 }, () => t.alloc.readAt("web/local/a", 0)));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    for (const reader of readers) await reader.close();
    expect(warnings).toEqual([]);
  });

  it("lists names in order without following links, and stats with a sniffed type", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    writeFileSync(join(local, "page"), "<html> hi");
    writeFileSync(join(local, "b.json"), "[]");
    writeFileSync(join(local, "empty"), "");
    symlinkSync("page", join(local, "link"));
    utimesSync(join(local, "page"), 1_700_000_000.25, 1_700_000_000.25);
    expect((await t.alloc.list("web/local")).map((e) => [e.Name, e.FileMode[0], e.IsDir])).toEqual([
      ["b.json", "-", false],
      ["empty", "-", false],
      ["link", "L", false],
      ["page", "-", false],
    ]);
    expect(await t.alloc.stat("/web//local/./link")).toMatchObject({
      Name: "page",
      Size: 9,
      ContentType: "text/html; charset=utf-8",
      ModTime: "2023-11-14T22:13:20.25Z",
    });
    expect(await t.alloc.stat("web/local/b.json")).toMatchObject({ ContentType: "application/json" });
    expect(await t.alloc.stat("web/local/empty")).toMatchObject({ ContentType: "application/octet-stream" });
    expect(await t.alloc.stat("/")).toMatchObject({ Name: "/", IsDir: true, FileMode: "drwxr-xr-x" });
    expect(await t.alloc.stat("web/tmp")).toMatchObject({ FileMode: "dtrwxrwxrwx" });
  });

  it.each(["..", "../x", "web/../../x", "web/local/../../../etc/passwd", "/../etc"])(
    "refuses %j before it looks at any file",
    async (path) => {
      await using t = await tempAlloc();
      for (const ask of [
        () => t.alloc.list(path),
        () => t.alloc.stat(path),
        () => t.alloc.readAt(path, 0),
        () => t.alloc.identify(path),
      ]) {
        const call = ask();
        await expect(call).rejects.toEqual(code("PATH_ESCAPES"));
        await expect(call).rejects.toThrow(/Path escapes the alloc directory/);
      }
    },
  );

  it("refuses paths that are no paths, and offsets that are no offsets", async () => {
    await using t = await tempAlloc();
    for (const path of ["a\0b", "x".repeat(5000), "\ud800"])
      await expect(t.alloc.stat(path)).rejects.toEqual(code("BAD_PATH"));
    for (const offset of [-1, 1.5, Number.NaN, 2 ** 53])
      await expect(t.alloc.readAt("web/local", offset)).rejects.toEqual(code("SEEK"));
  });

  it("takes a name that only begins with dots", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "web/local/..foo"), "x");
    expect(await t.alloc.stat("web/local/..foo")).toMatchObject({ Name: "..foo" });
  });

  it("follows links inside and refuses those that lead out, also dangling ones (CVE-2022-24683)", async () => {
    await using t = await tempAlloc({ tasks: ["web", "db"] });
    const local = join(t.alloc.allocDirPath, "web/local");
    writeFileSync(join(t.alloc.allocDirPath, "alloc/data/shared"), "shared");
    symlinkSync("../../alloc/data", join(local, "data"));
    symlinkSync("data/shared", join(local, "two-steps"));
    symlinkSync("/etc/passwd", join(local, "absolute"));
    symlinkSync("../../../../etc", join(local, "up"));
    symlinkSync("../../../nothing-there", join(local, "dangling-out"));
    symlinkSync("nothing-here", join(local, "dangling-in"));
    symlinkSync("loop-b", join(local, "loop-a"));
    symlinkSync("loop-a", join(local, "loop-b"));
    await using reader = await t.alloc.readAt("web/local/two-steps", 2);
    expect(Buffer.from(await reader.read(10)).toString()).toBe("ared");
    for (const name of ["absolute", "up/passwd", "dangling-out"])
      await expect(t.alloc.readAt(`web/local/${name}`, 0)).rejects.toEqual(code("PATH_ESCAPES"));
    await expect(t.alloc.stat("web/local/dangling-in")).rejects.toEqual(code("NOT_FOUND"));
    await expect(t.alloc.stat("web/local/dangling-in")).rejects.toThrow(/no such file or directory/);
    await expect(t.alloc.stat("web/local/loop-a")).rejects.toEqual(code("LOOP"));
    expect(await t.alloc.identify("web/local/dangling-in")).toBeUndefined();
  });

  it("keeps secrets and private closed: by name, by link, by hard link, by another task's directory", async () => {
    await using t = await tempAlloc({ tasks: ["web"] });
    const base = t.alloc.allocDirPath;
    writeFileSync(join(base, "web/secrets/token"), "s3cret");
    writeFileSync(join(base, "web/private/key"), "s3cret");
    symlinkSync("../secrets", join(base, "web/local/x"));
    mkdirSync(join(base, "web/secrets/deep"));
    writeFileSync(join(base, "web/secrets/deep/t"), "s");
    linkSync(join(base, "web/secrets/deep/t"), join(base, "web/local/hard"));
    mkdirSync(join(base, "stray/secrets"), { recursive: true });
    writeFileSync(join(base, "stray/secrets/t"), "s");
    for (const path of ["web/secrets/token", "web/local/x/token", "web/local/hard", "stray/secrets/t"]) {
      await expect(t.alloc.readAt(path, 0)).rejects.toEqual(code("SECRET_FILE"));
      await expect(t.alloc.stat(path)).rejects.toEqual(code("SECRET_FILE"));
    }
    await expect(t.alloc.list("web/secrets")).rejects.toEqual(code("SECRET_FILE"));
    await expect(t.alloc.list("web/private")).rejects.toEqual(code("PRIVATE_FILE"));
    expect(await t.alloc.stat("web/secrets")).toMatchObject({ IsDir: true });
    expect((await t.alloc.list("web")).map((e) => e.Name)).toContain("secrets");
    // A neighbour whose name only begins alike, and an honest hard link, stay readable.
    mkdirSync(join(base, "web/secrets-public"));
    writeFileSync(join(base, "web/secrets-public/ok"), "ok");
    linkSync(join(base, "web/secrets-public/ok"), join(base, "web/local/ok"));
    await using reader = await t.alloc.readAt("web/local/ok", 0);
    expect(Buffer.from(await reader.read(9)).toString()).toBe("ok");
  });

  it("opens neither fifo, socket nor directory for reading, and a stat of a fifo swallows nothing", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    execFileSync("mkfifo", [join(local, "fifo")]);
    const server = createServer().listen(join(local, "s"));
    await new Promise((resolve) => server.once("listening", resolve));
    for (const name of ["fifo", "s"])
      await expect(t.alloc.readAt(`web/local/${name}`, 0)).rejects.toEqual(code("NOT_REGULAR"));
    expect(await t.alloc.stat("web/local/fifo")).toMatchObject({
      FileMode: expect.stringMatching(/^p/),
      ContentType: "application/octet-stream",
    });
    await expect(t.alloc.readAt("web/local", 0)).rejects.toEqual(code("IS_DIRECTORY"));
    await expect(t.alloc.list("web/local/fifo")).rejects.toEqual(code("NOT_DIRECTORY"));
    await expect(t.alloc.stat("web/local/fifo/x")).rejects.toEqual(code("NOT_DIRECTORY"));
    server.close();
  });

  it("stays inside while a task exchanges a folder for a link again and again", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    const outside = join(t.root, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "f"), "OUT");
    mkdirSync(join(local, "d"));
    writeFileSync(join(local, "d/f"), "in");
    symlinkSync("../../../outside", join(local, "evil"));
    let stop = false;
    const swapping = (async () => {
      while (!stop) {
        renameSync(join(local, "d"), join(local, "kept"));
        renameSync(join(local, "evil"), join(local, "d"));
        await new Promise((resolve) => setImmediate(resolve));
        renameSync(join(local, "d"), join(local, "evil"));
        renameSync(join(local, "kept"), join(local, "d"));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    let read = 0;
    for (let i = 0; i < 400; i++) {
      try {
        await using reader = await t.alloc.readAt("web/local/d/f", 0);
        expect(Buffer.from(await reader.read(9)).toString()).toBe("in");
        read++;
      } catch (error) {
        expect((error as { code: string }).code).toMatch(/PATH_ESCAPES|NOT_FOUND|NOT_DIRECTORY|AssertionError/);
      }
    }
    stop = true;
    await swapping;
    expect(read).toBeGreaterThan(0);
  });

  it("ends open readers when the allocation is destroyed, and answers NOT_FOUND texts afterwards", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "web/local/f"), "hello");
    const reader = await t.alloc.readAt("web/local/f", 1);
    expect(Buffer.from(await reader.read(2)).toString()).toBe("el");
    expect([reader.position, await reader.size()]).toEqual([3, 5]);
    expect(await t.alloc.identify("web/local/f")).toEqual({ identity: reader.identity, size: 5 });
    await t.alloc.destroy();
    await expect(reader.read(1)).rejects.toEqual(code("DESTROYED"));
    await expect(t.alloc.stat("web")).rejects.toEqual(code("DESTROYED"));
    await reader.close();
    await t.alloc.build();
    rmSync(t.alloc.allocDirPath, { recursive: true });
    await expect(t.alloc.stat("web")).rejects.toEqual(code("NOT_BUILT"));
    await expect(reader.read(1)).rejects.toThrow();
  });

  it("reads the file that was opened although its name has gone", async () => {
    await using t = await tempAlloc();
    const path = join(t.alloc.allocDirPath, "web/local/f");
    writeFileSync(path, "hello");
    await using reader = await t.alloc.readAt("web/local/f", 0);
    unlinkSync(path);
    expect(Buffer.from(await reader.read(9)).toString()).toBe("hello");
    expect((await reader.read(9)).length).toBe(0);
  });
});
