/** A version like `1.4.0-beta.2+meta`. */
interface Version {
  readonly numbers: readonly number[];
  readonly pre: string;
}

const VERSION = /^v?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.~-]+))?(?:\+[0-9A-Za-z.~-]+)?$/;
const SEMVER = /^v?(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const PART = /^\s*(=|!=|>=|<=|>|<|~>)?\s*(\S+)\s*$/;

/** The two rules of versions: lenient (`version`), or strict with pre-releases in semver's order (`semver`). */
export type VersionMode = "version" | "semver";

/** Whether a version meets constraints like `>= 1.4, < 2.0`. Undefined when either text is not understood. */
export function meetsVersion(version: string, constraints: string, mode: VersionMode): boolean | undefined {
  const have = parse(version, mode);
  if (have === undefined) return undefined;
  let all = true;
  for (const text of constraints.split(",")) {
    const match = PART.exec(text);
    const want = match?.[2] === undefined ? undefined : parse(match[2], mode === "semver" ? "version" : mode);
    if (match === null || want === undefined) return undefined;
    const operand = match[1] ?? "=";
    if (mode === "semver" && operand === "~>") return undefined;
    all &&= meetsOne(have, operand, want, mode);
  }
  return all;
}

function parse(text: string, mode: VersionMode): Version | undefined {
  const match = (mode === "semver" ? SEMVER : VERSION).exec(text.trim());
  if (match?.[1] === undefined) return undefined;
  return { numbers: match[1].split(".").map(Number), pre: match[2] ?? "" };
}

function meetsOne(have: Version, operand: string, want: Version, mode: VersionMode): boolean {
  // A pre-release is no answer to a plain ">= 1.0": it must be asked for.
  if (mode === "version" && operand !== "=" && operand !== "!=" && have.pre !== "" && want.pre === "") return false;
  const order = compare(have, want);
  switch (operand) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    default:
      return order >= 0 && samePrefix(have, want);
  }
}

/** `~> 1.4.2` allows the last given number to grow only. */
function samePrefix(have: Version, want: Version): boolean {
  return want.numbers.slice(0, -1).every((number, i) => (have.numbers[i] ?? 0) === number);
}

function compare(a: Version, b: Version): number {
  for (let i = 0; i < Math.max(a.numbers.length, b.numbers.length); i++) {
    const difference = (a.numbers[i] ?? 0) - (b.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.pre === b.pre) return 0;
  if (a.pre === "") return 1;
  if (b.pre === "") return -1;
  return comparePre(a.pre.split("."), b.pre.split("."));
}

function comparePre(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [x, y] = [a[i], b[i]];
    if (x === undefined) return -1;
    if (y === undefined) return 1;
    if (x === y) continue;
    const [nx, ny] = [/^\d+$/.test(x), /^\d+$/.test(y)];
    if (nx && ny) return Number(x) - Number(y);
    if (nx !== ny) return nx ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return 0;
}
