import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  type?: string;
  license?: string;
  description?: string;
  engines?: { node?: string };
  files?: string[];
  exports?: Record<string, Record<string, string> | string>;
  publishConfig?: { access?: string; exports?: Record<string, Record<string, string> | string> };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  packageManager?: string;
}

const read = (path: string): string => readFileSync(path, "utf8");
const json = <T>(path: string): T => JSON.parse(read(path)) as T;
const { layers } = json<{ layers: string[][] }>("layers.json");
const packages = readdirSync("packages").filter((name) => existsSync(join("packages", name, "package.json")));
const manifestOf = (dir: string): Manifest => json(join(dir, "package.json"));

describe.each(packages)("package %s", (name) => {
  const dir = join("packages", name);
  const manifest = manifestOf(dir);

  it("is named, licensed and typed like its siblings", () => {
    expect(manifest).toMatchObject({
      name: `@outrider/${name}`,
      type: "module",
      license: "MIT",
      engines: { node: ">=20.19.0" },
      publishConfig: { access: "public" },
    });
    expect(manifest.description?.length).toBeGreaterThan(20);
    expect(manifest.private).toBeUndefined();
    for (const file of ["README.md", "CHANGELOG.md", "LICENSE", "src/index.ts", "turbo.json"])
      expect(existsSync(join(dir, file)), file).toBe(true);
  });

  it("publishes the entry points that it shows to its siblings, without their sources", () => {
    const shown = Object.entries(manifest.exports ?? {});
    expect(Object.keys(manifest.publishConfig?.exports ?? {})).toEqual(shown.map(([path]) => path));
    for (const [path, target] of shown) {
      if (typeof target === "string") continue;
      const { "@outrider/source": source, ...rest } = target;
      expect(manifest.publishConfig?.exports?.[path]).toEqual(rest);
      expect(existsSync(join(dir, source ?? "")), source).toBe(true);
    }
  });

  it("stands in a layer and depends on lower ones only", () => {
    const layer = layers.findIndex((names) => names.includes(name));
    expect(layer).toBeGreaterThanOrEqual(0);
    expect(json<{ tags: string[] }>(join(dir, "turbo.json")).tags).toEqual([`l${layer}`]);
    const own = Object.keys(manifest.dependencies ?? {}).filter((d) => d.startsWith("@outrider/"));
    const lower = layers.slice(0, layer).flat();
    for (const d of own) expect(lower, `${name} -> ${d}`).toContain(d.slice("@outrider/".length));
    if (layer === 0) expect(Object.keys(manifest.dependencies ?? {})).toEqual([]);
  });

  it("has a README in the order of all, with an example", () => {
    const headings = [...read(join(dir, "README.md")).matchAll(/^## (.+)$/gm)].map((m) =>
      (m[1] as string).toLowerCase(),
    );
    const order = [/^install/, /^(use|usage|example)$/, /^api/, /^errors/].map((word) =>
      headings.findIndex((h) => word.test(h)),
    );
    expect(
      order.every((n) => n >= 0),
      headings.join(", "),
    ).toBe(true);
    expect([...order].sort((a, b) => a - b)).toEqual(order);
    expect(headings.at(-1)).toBe("licence");
    expect(read(join(dir, "README.md"))).toMatch(/```(ts|js)\n/);
  });
});

it("lists every third-party dependency of what is published, with its reason", () => {
  const page = read("docs/dependencies.md");
  for (const dir of [...packages.map((name) => join("packages", name)), "apps/client"]) {
    const manifest = manifestOf(dir);
    for (const dependency of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      if (!dependency.startsWith("@outrider/"))
        expect(page, `${manifest.name} -> ${dependency}`).toContain(`\`${dependency}\``);
    }
  }
});

it("pins its tools alike wherever they are named", () => {
  const root = manifestOf(".");
  expect(root.packageManager).toBe(`pnpm@${root.devDependencies?.["pnpm"]}`);
  expect(root.devDependencies?.["vitest"]).toBe(root.devDependencies?.["@vitest/coverage-v8"]);
  const catalog = read("pnpm-workspace.yaml");
  for (const tool of ["typescript", "vitest"]) expect(catalog).toContain(`"${tool}": ${root.devDependencies?.[tool]}`);
  for (const version of Object.values(root.devDependencies ?? {})) expect(version).not.toMatch(/^(catalog|workspace):/);
});
