import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createFileBelow } from "../src/local/index.ts";
import { tempAlloc } from "./temp-alloc.ts";

it("makes folders and the file with their modes, visible only when it is whole", async () => {
  await using t = await tempAlloc();
  const root = join(t.alloc.allocDirPath, "web");
  const before = process.umask(0o077);
  try {
    await using file = await createFileBelow(root, "local/a/b.txt", { mode: 0o640 });
    await file.handle.writeFile("hello");
    expect(existsSync(join(root, "local/a/b.txt"))).toBe(false);
    await file.commit();
  } finally {
    process.umask(before);
  }
  expect(readFileSync(join(root, "local/a/b.txt"), "utf8")).toBe("hello");
  expect([statSync(join(root, "local/a/b.txt")).mode & 0o777, statSync(join(root, "local/a")).mode & 0o777]).toEqual([
    0o640, 0o777,
  ]);
  expect(readdirSync(join(root, "local/a"))).toEqual(["b.txt"]);
});

it("replaces a file or a link by name and leaves nothing of an abandoned one", async () => {
  await using t = await tempAlloc();
  const root = join(t.alloc.allocDirPath, "web");
  const outside = join(t.root, "outside");
  writeFileSync(outside, "kept");
  symlinkSync(outside, join(root, "local/f"));
  {
    await using abandoned = await createFileBelow(root, "local/f", { mode: 0o600 });
    await abandoned.handle.writeFile("x");
  }
  expect(readdirSync(join(root, "local"))).toEqual(["f"]);
  await using file = await createFileBelow(root, "local/f", { mode: 0o600 });
  await file.handle.writeFile("new");
  await file.commit();
  expect([readFileSync(outside, "utf8"), readFileSync(join(root, "local/f"), "utf8")]).toEqual(["kept", "new"]);
});

it.each(["../x", "local/../../x", "", ".", "local/.."])("refuses %j", async (path) => {
  await using t = await tempAlloc();
  await expect(createFileBelow(join(t.alloc.allocDirPath, "web"), path, { mode: 0o600 })).rejects.toMatchObject({
    code: "ERR_OUTRIDER_ALLOCDIR_PATH_ESCAPES",
  });
});

it("goes through no link that a task planted, and says what is in the way", async () => {
  await using t = await tempAlloc();
  const root = join(t.alloc.allocDirPath, "web");
  symlinkSync("/tmp", join(root, "local/out"));
  await expect(createFileBelow(root, "local/out/evil", { mode: 0o600 })).rejects.toMatchObject({
    code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY",
  });
  expect(existsSync("/tmp/evil")).toBe(false);
  mkdirSync(join(root, "local/dir/full"), { recursive: true });
  await using file = await createFileBelow(root, "local/dir", { mode: 0o600 });
  await expect(file.commit()).rejects.toMatchObject({ code: expect.stringMatching(/IS_DIRECTORY|IO/) });
});
