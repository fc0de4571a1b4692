import type { TaskArtifact } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { ArtifactFault, artifactSource, shownSource } from "../../src/task/artifact/artifact-source.ts";

const artifact = (source: string, o: Partial<TaskArtifact> = {}): TaskArtifact => ({
  GetterSource: source,
  GetterOptions: null,
  GetterHeaders: null,
  GetterMode: "any",
  GetterInsecure: false,
  RelativeDest: "local/",
  Chown: false,
  ...o,
});
const read = (source: string, o: Partial<TaskArtifact> = {}): unknown =>
  artifactSource(artifact(source, o), { literal: !source.includes("${") });
const SHA256 = `sha256:${"a".repeat(64)}`;

describe("an artifact's source", () => {
  it.each<[string, Partial<TaskArtifact>, object]>([
    ["http://h/a/b.txt", {}, { url: "http://h/a/b.txt", path: "local//b.txt", checksum: undefined }],
    ["https://h/b%20c.txt?x=1", { RelativeDest: "" }, { url: "https://h/b%20c.txt?x=1", path: "local//b c.txt" }],
    ["http://h/b", { GetterMode: "file", RelativeDest: "local/c" }, { path: "local/c" }],
    ["http://h/", { GetterMode: "file", RelativeDest: "local/c" }, { path: "local/c" }],
    ["http://h/b.tar.gz", { GetterOptions: { archive: "false" } }, { path: "local//b.tar.gz" }],
    ["http://h/b", { GetterOptions: { filename: "n" } }, { path: "local//n" }],
    [
      "http://h/b",
      { GetterOptions: { checksum: SHA256.toUpperCase().replace("SHA256", "sha256") } },
      { checksum: { algorithm: "sha256", hex: "a".repeat(64) } },
    ],
    ["http://h/b", { GetterOptions: { checksum: "md5:${meta.sum}" } }, { checksum: undefined }],
    [`http://h/b?checksum=${SHA256}&x=1`, {}, { url: "http://h/b?x=1", checksum: { algorithm: "sha256" } }],
    ["http://h/${attr.cpu.arch}/b", {}, { path: "local//b" }],
    ["${meta.mirror}/b", {}, { path: "local//b" }],
  ])("%s is understood", (source, o, expected) => expect(read(source, o)).toMatchObject(expected));

  it.each<[string, Partial<TaskArtifact>, string, RegExp]>([
    ["github.com/a/b", {}, "GetterSource", /not an http or https URL/],
    ["git::https://h/a.git", {}, "GetterSource", /only http and https/],
    ["s3://bucket/a", {}, "GetterSource", /only http and https/],
    ["http://h/a//b", {}, "GetterSource", /subfolder/],
    ["http://h/", {}, "GetterSource", /names no file/],
    ["http://h/%2e%2e%2fb", {}, "GetterSource", /names no file/],
    ["http://h/%zz", {}, "GetterSource", /names no file/],
    ["http://h/b", { GetterMode: "dir" }, "GetterMode", /single files only/],
    ["http://h/b", { GetterInsecure: true }, "GetterInsecure", /certificates/],
    ["http://h/b", { Chown: true }, "Chown", /chown/],
    ["http://h/b", { GetterOptions: { sshkey: "x" } }, "GetterOptions", /"sshkey"/],
    ["http://h/b.zip", {}, "GetterOptions", /archive/],
    ["http://h/b", { GetterOptions: { archive: "zip" } }, "GetterOptions", /archive/],
    ["http://h/b", { GetterOptions: { checksum: "file:http://h/sums" } }, "GetterOptions", /checksum/],
    ["http://h/b", { GetterOptions: { checksum: "md5:12" } }, "GetterOptions", /checksum/],
    ["http://h/b", { GetterOptions: { checksum: "constructor:12" } }, "GetterOptions", /checksum/],
  ])("%s %j is refused by its field", (source, o, field, message) => {
    let fault: unknown;
    try {
      read(source, o);
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(ArtifactFault);
    expect(fault).toMatchObject({ field, message: expect.stringMatching(message) });
  });

  it("is never shown with its password", () => {
    expect(shownSource("https://user:secret@h/b")).toBe("https://h/b");
    expect(() => read("https://user:secret@h/b.zip")).toThrow(/^(?!.*secret)/);
  });
});
