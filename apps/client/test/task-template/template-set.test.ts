import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskDir } from "@outrider/allocdir-interface";
import { make, TemplateStruct, type Template } from "@outrider/nomad-structs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseEnvFile, TemplateSet, type Rendering } from "../../src/task/template/template-set.ts";

let root = "";
let taskDir: TaskDir;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "outrider-template-"));
  const dir = join(root, "main");
  taskDir = {
    dir,
    localDir: join(dir, "local"),
    secretsDir: join(dir, "secrets"),
    sharedAllocDir: join(root, "alloc"),
  } as unknown as TaskDir;
  for (const path of [taskDir.localDir, taskDir.secretsDir, taskDir.sharedAllocDir])
    await mkdir(path, { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const template = (data: string, o: Partial<Template> = {}): Template =>
  make(TemplateStruct, {
    EmbeddedTmpl: data,
    DestPath: "local/f",
    ChangeMode: "restart",
    Perms: "0644",
    ...o,
  } as never);
const load = (...templates: Template[]): Promise<TemplateSet> =>
  TemplateSet.load(templates, { taskDir, replace: (text) => text.replaceAll("${NOMAD_TASK_DIR}", "/local") });
const vars: Record<string, Record<string, string>> = {};
beforeEach(() => {
  for (const key of Object.keys(vars)) delete vars[key];
});
const render = (set: TemplateSet, known = false): Promise<Rendering> =>
  set.render(
    {
      env: (name) => ({ HOME: "/root" })[name] ?? "",
      variable: (path) => vars[path],
      missingText: (path) => `var(${path})`,
    },
    { known },
  );
const text = (path: string): Promise<string> => readFile(join(root, path), "utf8");

describe("a task's templates", () => {
  it("are written with their permissions, below the folders that tasks know by name", async () => {
    const set = await load(
      template("a", { Perms: "0600" }),
      template("b", { DestPath: "${NOMAD_TASK_DIR}/deep/b" }),
      template("c", { DestPath: "${NOMAD_ALLOC_DIR}/data/c" }),
      template("d", { DestPath: "${NOMAD_SECRETS_DIR}/d" }),
      template("e", { DestPath: "/local/e" }),
      template("f", { DestPath: "../alloc/f" }),
    );
    await render(set);
    expect(
      await Promise.all(
        ["main/local/f", "main/local/deep/b", "alloc/data/c", "main/secrets/d", "main/local/e", "alloc/f"].map(text),
      ),
    ).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect((await stat(join(root, "main/local/f"))).mode & 0o777).toBe(0o600);
  });

  it.each(["../../f", "${NOMAD_ALLOC_DIR}/../f", "/"])("go nowhere else: %s", async (DestPath) => {
    await expect(load(template("a", { DestPath }))).rejects.toThrow(/outside of the task's folders/);
  });

  it("follow no link that the task has made", async () => {
    await symlink(root, join(root, "main/local/out"));
    await expect(render(await load(template("a", { DestPath: "local/out/f" })))).rejects.toThrow();
    await writeFile(join(root, "secret"), "{{ 1 }}");
    await symlink(join(root, "secret"), join(root, "main/local/source"));
    await expect(load(template("", { SourcePath: "local/source" }))).rejects.toThrow();
    await expect(load(template("", { SourcePath: "local" }))).rejects.toThrow(/not a plain file/);
    await expect(load(template("", { SourcePath: "local/none" }))).rejects.toThrow(/"local\/none" is not there/);
  });

  it("may come from a file", async () => {
    await writeFile(join(root, "main/local/source"), '{{ env "HOME" }}');
    await render(await load(template("", { SourcePath: "local/source" })));
    expect(await text("main/local/f")).toBe("/root");
  });

  it("are written only when nothing is missing; asking whether a variable exists misses nothing", async () => {
    const set = await load(
      template("x{{ with nomadVar `b` }}{{ .k }}{{ end }}{{ (nomadVar `a`).k.deep }}"),
      template("{{ nomadVarExists `c` }}{{ and (nomadVarExists `c`) (nomadVar `c`) }}", { DestPath: "local/g" }),
    );
    expect((await render(set)).missing).toEqual(["var(a)", "var(b)"]);
    await expect(text("main/local/g")).rejects.toThrow();
    vars["b"] = { k: "1" };
    expect((await render(set)).missing).toEqual(["var(a)"]);
    // Now that nothing is missing the template's own fault shows.
    vars["a"] = { k: "2" };
    await expect(render(set)).rejects.toThrow('template line 1: can\'t evaluate field deep in "2"');
  });

  it("tell which texts changed, once each", async () => {
    const set = await load(
      template("{{ (nomadVar `a`).k }}"),
      template("same", { DestPath: "local/g" }),
      template("{{ (nomadVar `a`).k }}", { DestPath: "local/once", Once: true }),
    );
    vars["a"] = { k: "1" };
    expect((await render(set)).changed).toEqual([]);
    expect((await render(set)).changed).toEqual([]);
    vars["a"] = { k: "2" };
    expect((await render(set)).changed.map((t) => t.DestPath)).toEqual(["local/f"]);
    expect([await text("main/local/f"), await text("main/local/once")]).toEqual(["2", "1"]);
    expect((await render(set)).changed).toEqual([]);
  });

  it("compare with the files of an earlier process", async () => {
    await writeFile(join(root, "main/local/f"), "1");
    vars["a"] = { k: "1" };
    const make = (): Promise<TemplateSet> =>
      load(template("{{ (nomadVar `a`).k }}"), template("new", { DestPath: "local/new" }));
    expect((await render(await make(), true)).changed).toEqual([]);
    vars["a"] = { k: "2" };
    expect((await render(await make(), true)).changed.map((t) => t.DestPath)).toEqual(["local/f"]);
  });

  it("fail for unknown keys when asked to", async () => {
    vars["a"] = { k: "1" };
    await expect(
      render(await load(template("\n{{ with nomadVar `a` }}\n{{ .none }}{{ end }}", { ErrMissingKey: true }))),
    ).rejects.toThrow('template line 3: map has no entry for key "none"');
  });

  it("offer a variable's keys, values and pairs", async () => {
    vars["a"] = { y: "2", x: "1" };
    await render(
      await load(
        template(
          "{{ with nomadVar `a` }}{{ .Keys }}{{ .Values }}{{ range .Tuples }}{{ .K }}={{ .V }};{{ end }}{{ end }}",
        ),
      ),
    );
    expect(await text("main/local/f")).toBe("[x y][1 2]x=1;y=2;");
    await expect(render(await load(template("{{ (nomadVar `a`).Metadata }}")))).rejects.toThrow(
      /Metadata of a variable is not supported/,
    );
  });

  it("give the variables of env files, the later ones first", async () => {
    const set = await load(
      template("A=1\nB=x", { Envvars: true }),
      template("B=2", { Envvars: true, DestPath: "local/g" }),
      template("C=3", { DestPath: "local/h" }),
    );
    expect((await render(set)).env).toEqual({ A: "1", B: "2" });
  });

  it("leave the owner alone unless told otherwise", async () => {
    const uid = process.getuid?.() ?? -1;
    await render(await load(template("a", { Uid: uid, Gid: -1 })));
    expect((await stat(join(root, "main/local/f"))).uid).toBe(uid);
  });
});

describe("env files", () => {
  it("are lines of KEY=value", () => {
    expect(parseEnvFile(`# comment\n\nA = b c\nexport B="x\\ny\\"\\\\"\nC='a"b'\nD=\nE="half`)).toEqual({
      A: "b c",
      B: 'x\ny"\\',
      C: 'a"b',
      D: "",
      E: '"half',
    });
    expect(() => parseEnvFile("A=1\nnonsense")).toThrow('template line 2: "nonsense" is not a KEY=value line');
  });
});
