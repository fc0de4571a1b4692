import type { Range } from "@outrider/hcl";
import type { JobDiagnostic } from "./diagnostics.ts";

/** JSON begins with a brace and a quoted key; HCL never does. */
const JSON_START = /^(\s*\{\s*)("(?:[^"\\\n]|\\.)*")/;

function position(text: string, offset: number): Range["start"] {
  const before = text.slice(0, offset);
  const lines = before.split("\n");
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1, byte: Buffer.byteLength(before) };
}

/** The fault of a text that is JSON although HCL was expected, at its first key; undefined for other texts. */
export function jsonTextFault(text: string | Uint8Array, filename: string): JobDiagnostic | undefined {
  const head = typeof text === "string" ? text.slice(0, 4096) : new TextDecoder().decode(text.subarray(0, 4096));
  const found = JSON_START.exec(head);
  if (found === null) return undefined;
  const start = (found[1] as string).length;
  return {
    severity: "error",
    code: "json-syntax",
    summary: "JSON where HCL is expected",
    detail: "This is a job in JSON. Say -json to read it as one.",
    subject: { filename, start: position(head, start), end: position(head, start + (found[2] as string).length) },
  };
}
