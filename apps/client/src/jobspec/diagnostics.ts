import type { DiagnosticCode, Range } from "@outrider/hcl";

/** Codes of faults that are found beyond the language itself. */
export type JobspecCode =
  | "unsupported-argument"
  | "unsupported-block"
  | "duplicate-block"
  | "missing-label"
  | "extra-label"
  | "unsuitable-value"
  | "invalid-block-content"
  | "missing-job"
  | "unset-variable"
  | "undeclared-variable"
  | "cyclic-local"
  | "duplicate-variable"
  | "invalid-variable"
  | "invalid-variable-value"
  | "validation-failed"
  | "unreadable-file"
  | "json-syntax"
  | "invalid-job";

/** A fault, or a remark, about a job file. */
export interface JobDiagnostic {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode | JobspecCode;
  /** A few words. */
  readonly summary: string;
  /** A sentence or two with the offending text. */
  readonly detail: string;
  /** Where; undefined when it is about no place in a file. */
  readonly subject?: Range;
}

/** Most diagnostics that are written out. */
const MAX_SHOWN = 10;
/** Longest source line that is written out, in characters. */
const MAX_LINE = 160;

/** Control characters of the source must not reach a terminal. */
const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (c) => (c === "\t" ? c : "·"));

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The characters of a line as columns count them. */
const characters = (line: string): string[] => Array.from(graphemes.segment(line), (part) => part.segment);

function sourceLine(source: string | undefined, range: Range): string[] {
  const line = source?.split("\n", range.start.line)[range.start.line - 1]?.replace(/\r$/, "");
  if (line === undefined || line.trim() === "") return [];
  const number = `  ${range.start.line} | `;
  const columns = characters(line.slice(0, 4 * MAX_LINE));
  const before = columns.slice(0, range.start.column - 1).join("");
  const width = range.end.line === range.start.line ? Math.max(1, range.end.column - range.start.column) : 1;
  const cut = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
  const mark = columns.slice(range.start.column - 1, range.start.column - 1 + width);
  const lines = [number + printable(cut)];
  if (before.length < MAX_LINE) {
    const blank = before.replaceAll(/[^\t]/g, " ");
    lines.push(`${" ".repeat(number.length)}${blank}${"^".repeat(Math.max(1, Math.min(mark.length, MAX_LINE)))}`);
  }
  return lines;
}

function one(d: JobDiagnostic, source: string | undefined, filename: string | undefined): string {
  const remark = d.severity === "warning" ? "warning: " : "";
  const text = printable(`${remark}${d.summary}: ${d.detail}`.replaceAll("\n", " "));
  const at = d.subject;
  if (at === undefined) return text;
  const where = `${at.filename}:${at.start.line},${at.start.column}`;
  const known = filename === undefined || at.filename === filename ? source : undefined;
  return [`${where}: ${text}`, ...sourceLine(known, at)].join("\n");
}

/**
 * The text for a terminal: `file:line,column: summary: detail`, then the line of the source with a mark below.
 *
 * `source` is the text of the job file; lines of other files (variables) are not shown.
 */
export function formatDiagnostics(
  diagnostics: readonly JobDiagnostic[],
  source?: string | Uint8Array,
  filename?: string,
): string {
  const text = source === undefined || typeof source === "string" ? source : new TextDecoder().decode(source);
  const shown = diagnostics.slice(0, MAX_SHOWN).map((d) => one(d, text, filename));
  const more = diagnostics.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  return shown.join("\n");
}
