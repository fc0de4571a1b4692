import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readFileBelow } from "../src/local/index.ts";
import { tempAlloc } from "./temp-alloc.ts";

describe("reading a file below a task's directory", () => {
  it("gives its text, or nothing where there is none", async () => {
    await using t = await tempAlloc();
    const root = join(t.alloc.allocDirPath, "web/local");
    mkdirSync(join(root, "d"));
    writeFileSync(join(root, "d/f"), "text");
    expect(await readFileBelow(root, "./d//f", { maxBytes: 4 })).toBe("text");
    expect(await readFileBelow(root, "d/none", { maxBytes: 4 })).toBeUndefined();
    expect(await readFileBelow(join(root, "none"), "f", { maxBytes: 4 })).toBeUndefined();
  });

  it("follows no link, leads nowhere else, and takes plain files of a bounded size only", async () => {
    await using t = await tempAlloc();
    const root = join(t.alloc.allocDirPath, "web/local");
    mkdirSync(join(root, "d"));
    writeFileSync(join(root, "d/f"), "text");
    symlinkSync("d", join(root, "link"));
    symlinkSync("/etc/passwd", join(root, "out"));
    const refused = (path: string, reason: string): Promise<void> =>
      expect(readFileBelow(root, path, { maxBytes: 3 })).rejects.toMatchObject({
        code: `ERR_OUTRIDER_ALLOCDIR_${reason}`,
        path,
      });
    await refused("link/f", "NOT_DIRECTORY");
    await refused("out", "LOOP");
    await refused("d", "NOT_REGULAR");
    await refused("d/f", "TOO_LARGE");
    await refused("d/f/g", "NOT_DIRECTORY");
    await refused("../local/d/f", "PATH_ESCAPES");
    await refused("", "PATH_ESCAPES");
  });
});
