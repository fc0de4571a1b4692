import type { ParserState } from "./parser-state.ts";
import { T } from "./tokens.ts";

const OPERATORS: Record<string, string> = { "&": '"&&"', "|": '"||"', "~": '"!"', "^": "" };

/** Reports the tokens that are never part of the language. They come first, whatever the parser makes of the rest. */
export const reportScanErrors = (p: ParserState): void => {
  const { kinds, tokens } = p;
  const told = new Set<string>();
  for (let i = 0; i < tokens.count; i++) {
    const kind = kinds[i] as number;
    if (kind < T.Broken && kind !== T.QuotedNewline) continue;
    if (kind === T.QuotedNewline) {
      p.report(
        "newline-in-string",
        "Line end in a quoted string",
        "A quoted string ends on the line where it starts. Write \\n for a line end, or use a heredoc.",
        p.range(i),
      );
    } else if (kind === T.Broken) {
      // One is enough: a file in another encoding is wrong from end to end.
      if (told.has("utf8")) continue;
      told.add("utf8");
      p.report(
        "invalid-encoding",
        "Not UTF-8",
        "The text must be encoded in UTF-8; this byte is not part of a character.",
        p.range(i),
      );
    } else invalidToken(p, i, told);
  }
};

const invalidToken = (p: ParserState, i: number, told: Set<string>): void => {
  const text = p.tokenText(i);
  const suggestion = OPERATORS[text];
  if (suggestion !== undefined) {
    const hint = suggestion === "" ? "" : ` Is ${suggestion} meant?`;
    return p.report(
      "unsupported-operator",
      "Unsupported operator",
      `There are no bitwise operators, so ${JSON.stringify(text)} has no meaning.${hint}`,
      p.range(i),
    );
  }
  if (text === "'" || text === "`" || text === ";") {
    if (told.has(text)) return;
    told.add(text);
    const hint =
      text === ";"
        ? "Items end at the end of the line; a list separates them by commas."
        : "Strings stand in double quotes, long ones in a heredoc.";
    return p.report(
      "invalid-character",
      "Invalid character",
      `${JSON.stringify(text)} has no meaning here. ${hint}`,
      p.range(i),
    );
  }
  p.report(
    "invalid-character",
    "Invalid character",
    `${JSON.stringify(text)} is not part of the language.`,
    p.range(i),
  );
};
