import { createFileBelow, readFileBelow } from "@outrider/allocdir-interface/local";
import type { TaskDir } from "@outrider/allocdir-interface";
import type { Template } from "@outrider/nomad-structs";
import { placeInTask, type TaskPlace } from "../task-place.ts";
import { parseTemplate } from "./parse-template.ts";
import { renderTemplate } from "./render-template.ts";
import type { TemplateData } from "./template-functions.ts";
import { TemplateError, type TemplateNode } from "./template-tree.ts";

/** Longest source or rendered file that is read back, bytes. */
const MAX_FILE = 64 * 2 ** 20;

/** A template with its tree. */
interface Parsed {
  readonly template: Template;
  readonly tree: readonly TemplateNode[];
  readonly place: TaskPlace;
}

/** What a rendering gave: the texts, or what is missing. */
export interface Rendering {
  /** Templates whose text differs from what was there before. */
  readonly changed: readonly Template[];
  readonly missing: readonly string[];
  /** Variables of `env = true` templates. */
  readonly env: Readonly<Record<string, string>>;
}

/** Where a rendering gets its values. */
export interface RenderSource {
  readonly env: (name: string) => string;
  readonly variable: (path: string) => Readonly<Record<string, string>> | undefined;
  /** How a missing variable is told. */
  readonly missingText: (path: string) => string;
}

/** The templates of one task: parsed once, rendered as often as values change, written only when their text changes. */
export class TemplateSet {
  readonly #parsed: readonly Parsed[];
  readonly #written = new Map<Parsed, string>();

  private constructor(parsed: readonly Parsed[]) {
    this.#parsed = parsed;
  }

  /** Reads and parses. Throws TemplateError; a source file that cannot be read throws what reading it gave. */
  static async load(
    templates: readonly Template[],
    o: { readonly taskDir: TaskDir; readonly replace: (text: string) => string },
  ): Promise<TemplateSet> {
    const parsed: Parsed[] = [];
    for (const template of templates) {
      const source =
        template.EmbeddedTmpl || (await readSource(placeInTask(template.SourcePath, o), template.SourcePath));
      const tree = parseTemplate(source, { leftDelim: template.LeftDelim, rightDelim: template.RightDelim });
      parsed.push({ template, tree, place: placeInTask(template.DestPath, o) });
    }
    return new TemplateSet(parsed);
  }

  /**
   * Renders all. When something is missing nothing is written. `known`: files that are there already come from an earlier process, and
   * one with another text counts as changed.
   */
  async render(source: RenderSource, o: { readonly known: boolean }): Promise<Rendering> {
    const missing = new Set<string>();
    const texts = this.#parsed.map((p) =>
      p.template.Once && this.#written.has(p) ? (this.#written.get(p) as string) : this.#text(p, source, missing),
    );
    if (missing.size > 0) return { changed: [], missing: [...missing].sort(), env: {} };
    const changed: Template[] = [];
    let env: Record<string, string> = {};
    for (const [i, p] of this.#parsed.entries()) {
      const text = texts[i] as string;
      if (p.template.Envvars) env = { ...env, ...parseEnvFile(text) };
      const before =
        this.#written.get(p) ??
        (o.known ? await readFileBelow(p.place.root, p.place.path, { maxBytes: MAX_FILE }) : undefined);
      if (before !== text) {
        await writeFile(p, text);
        if (before !== undefined) changed.push(p.template);
      }
      this.#written.set(p, text);
    }
    return { changed, missing: [], env };
  }

  #text(p: Parsed, source: RenderSource, missing: Set<string>): string {
    const data: TemplateData = {
      env: source.env,
      nomadVar: (path) => {
        const items = source.variable(path);
        if (items === undefined) missing.add(source.missingText(path));
        return items;
      },
      hasVar: (path) => source.variable(path) !== undefined,
    };
    try {
      return renderTemplate(p.tree, data, { strict: p.template.ErrMissingKey });
    } catch (error) {
      // What fails for a missing variable is told as missing, once more is there it is tried again.
      if (missing.size > 0) return "";
      throw error;
    }
  }
}

async function readSource(place: TaskPlace, shown: string): Promise<string> {
  const text = await readFileBelow(place.root, place.path, { maxBytes: MAX_FILE });
  if (text === undefined) throw new Error(`source ${JSON.stringify(shown)} is not there`);
  return text;
}

async function writeFile(p: Parsed, text: string): Promise<void> {
  const { template, place } = p;
  await using file = await createFileBelow(place.root, place.path, {
    mode: Number.parseInt(template.Perms || "0644", 8) & 0o777,
  });
  await file.handle.writeFile(text);
  if (template.Uid !== null || template.Gid !== null)
    await file.handle.chown(ownerId(template.Uid), ownerId(template.Gid));
  await file.commit();
}

/** An absent or negative id leaves the owner as it is. */
const ownerId = (id: number | null): number => (id === null || id < 0 ? -1 : id);

/** Reads `KEY=value` lines; quotes around a value are taken off, `#` begins a comment line. Throws TemplateError. */
export function parseEnvFile(text: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [i, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const m = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)$/.exec(line);
    if (m === null) throw new TemplateError(`${JSON.stringify(line.slice(0, 40))} is not a KEY=value line`, i + 1);
    const value = m[2] as string;
    const quoted = /^(["'])(.*)\1$/.exec(value);
    env[m[1] as string] =
      quoted === null
        ? value
        : quoted[1] === '"'
          ? (quoted[2] as string).replace(/\\n/g, "\n").replace(/\\(["\\])/g, "$1")
          : (quoted[2] as string);
  }
  return env;
}
