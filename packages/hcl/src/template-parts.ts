import type { Expression } from "./expressions.ts";

/** The flat pieces of a template, before directives are paired up. */
export type Part =
  | { kind: "text"; text: string; from: number; to: number }
  | ({ kind: "value"; expression: Expression } & Sequence)
  | ({ kind: "if"; condition: Expression } & Sequence)
  | ({ kind: "for"; keyName: string | undefined; valueName: string; collection: Expression } & Sequence)
  | ({ kind: "else" | "endif" | "endfor" } & Sequence);

/** A `${…}` or `%{…}` with its strip markers. */
export interface Sequence {
  from: number;
  to: number;
  stripBefore: boolean;
  stripAfter: boolean;
}

/** Removes blanks and line ends next to sequences with a strip marker: in the adjacent text only, in a heredoc one line at most. */
export const strip = (parts: Part[]): void => {
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    if (part.kind === "text") continue;
    const before = parts[i - 1];
    const after = parts[i + 1];
    if (part.stripBefore && before?.kind === "text") before.text = before.text.trimEnd();
    if (part.stripAfter && after?.kind === "text") after.text = after.text.trimStart();
  }
};

/** Removes the common indentation of a `<<-` heredoc. Lines of blanks neither count nor change; a sequence at the start of a line counts as none. */
export const dedent = (parts: Part[]): void => {
  const starts: { text: string }[] = [];
  let least = Infinity;
  let lineStart = true;
  for (const part of parts) {
    if (part.kind === "text") {
      if (lineStart) {
        const indent = part.text.length - part.text.trimStart().length;
        if (indent < part.text.length || !part.text.endsWith("\n")) {
          least = Math.min(least, indent);
          starts.push(part);
        }
      }
      lineStart = part.text.endsWith("\n");
    } else {
      if (lineStart) least = 0;
      lineStart = false;
    }
  }
  if (least > 0) for (const part of starts) part.text = part.text.slice(least);
};
