import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import { parse } from "../src/index.ts";
import { bodyToJson, type Json } from "../src/body-json.ts";
import { mutate, random } from "./mutants.ts";

// The oracle is CommonJS and made for tests only.
const require = createRequire(import.meta.url);
const oracle = require("@cdktn/hcl2json") as {
  parse(filename: string, text: string): Promise<Json>;
};

/** The official parser's answer: JSON (undefined where only the conversion to JSON failed), or place of the first diagnostic. */
export type Answer = { json: Json | undefined } | { line: number; column: number; message: string };

export const ask = async (text: string): Promise<Answer> => {
  try {
    return { json: await oracle.parse("f.hcl", text) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!message.startsWith("parse config:")) return { json: undefined };
    const place = /f\.hcl:(\d+),(\d+)-/.exec(message);
    return { line: Number(place?.[1]), column: Number(place?.[2]), message };
  }
};

/** The job files of the fixtures. */
export const jobFiles = (): { name: string; text: string }[] => {
  const folder = new URL("fixtures/jobs/", import.meta.url);
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));
};

/** How one text compares. */
export interface Comparison {
  text: string;
  kind: "same" | "accepted" | "refused" | "line" | "column" | "value";
  detail: string;
}

export const compare = async (text: string): Promise<Comparison> => {
  const theirs = await ask(text);
  const { body, diagnostics } = parse(text);
  const first = diagnostics[0];
  if ("json" in theirs) {
    if (first !== undefined)
      return {
        text,
        kind: "refused",
        detail: `${first.subject.start.line},${first.subject.start.column} ${first.detail}`,
      };
    if (theirs.json === undefined) return { text, kind: "same", detail: "" };
    const plain = (x: unknown): unknown => JSON.parse(JSON.stringify(x));
    const ours = plain(bodyToJson(body));
    const same = isDeepStrictEqual(ours, plain(theirs.json));
    return {
      text,
      kind: same ? "same" : "value",
      detail: same ? "" : `${JSON.stringify(ours)}\n${JSON.stringify(theirs.json)}`,
    };
  }
  if (first === undefined) return { text, kind: "accepted", detail: theirs.message };
  const { line, column } = first.subject.start;
  const kind = line !== theirs.line ? "line" : column !== theirs.column ? "column" : "same";
  return { text, kind, detail: `ours ${line},${column} ${first.detail} theirs ${theirs.message}` };
};

/** Compares `count` one-edit mutants of the job files. */
export const compareMutants = async (count: number, seed: number): Promise<Comparison[]> => {
  const files = jobFiles();
  const next = random(seed);
  const out: Comparison[] = [];
  for (let i = 0; i < count; i++) {
    const { text } = files[i % files.length] as { text: string };
    out.push(await compare(mutate(text, next)));
  }
  return out;
};

/** Shares of a list of comparisons. */
export const summary = (
  all: readonly Comparison[],
): { total: number; invalid: number; acceptance: number; line: number; column: number; values: number } => {
  const count = (...kinds: Comparison["kind"][]): number => all.filter((c) => kinds.includes(c.kind)).length;
  const wrong = count("accepted", "refused");
  const bothRefuse = all.filter(
    (c) => c.kind === "line" || c.kind === "column" || (c.kind === "same" && c.detail !== ""),
  ).length;
  return {
    total: all.length,
    invalid: bothRefuse + count("accepted"),
    acceptance: 1 - wrong / all.length,
    line: bothRefuse === 0 ? 1 : 1 - count("line") / bothRefuse,
    column: bothRefuse === 0 ? 1 : 1 - count("line", "column") / bothRefuse,
    values: count("value"),
  };
};
