/** How one flag takes its value. */
export type FlagKind = "bool" | "string" | "int" | "list";

/** The flags a command knows: name without dashes to kind. */
export type FlagSpec = Readonly<Record<string, FlagKind>>;

/** A usage fault: the command line itself is wrong. Exit code 1, as in Nomad. */
export class UsageError extends Error {
  readonly code = "ERR_OUTRIDER_CLI_USAGE";
  readonly flag: string | undefined;

  constructor(message: string, flag?: string) {
    super(message);
    this.flag = flag;
  }
}

/** What a command line held. */
export interface ParsedFlags {
  bool(name: string): boolean;
  /** Whether the flag was given at all. */
  has(name: string): boolean;
  string(name: string, fallback?: string): string;
  int(name: string, fallback: number): number;
  list(name: string): readonly string[];
  readonly args: readonly string[];
}

const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE = new Set(["0", "f", "F", "false", "FALSE", "False"]);

/**
 * Reads a command line as Go programs do: one dash or two, `=value` or the next argument, booleans without value, `--` or
 * the first word that is no flag ends the flags. `-h`, `-help` and `--help` throw a UsageError with flag `help`.
 */
export function parseGoFlags(argv: readonly string[], spec: FlagSpec): ParsedFlags {
  const values = new Map<string, string[]>();
  let i = 0;
  for (; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === "--") {
      i++;
      break;
    }
    if (word.length < 2 || word[0] !== "-") break;
    const body = word.startsWith("--") ? word.slice(2) : word.slice(1);
    const equals = body.indexOf("=");
    const name = equals < 0 ? body : body.slice(0, equals);
    if (name === "" || name.startsWith("-")) throw new UsageError(`malformed flag: ${word}`, word);
    const kind = Object.hasOwn(spec, name) ? spec[name] : undefined;
    if (kind === undefined) {
      throw name === "h" || name === "help"
        ? new UsageError("help requested", "help")
        : new UsageError(`unknown flag: -${name}`, name);
    }
    let value: string;
    if (equals >= 0) value = body.slice(equals + 1);
    else if (kind === "bool") value = "true";
    else {
      const next = argv[++i];
      if (next === undefined) throw new UsageError(`flag -${name} needs a value`, name);
      value = next;
    }
    if (kind === "bool" && !TRUE.has(value) && !FALSE.has(value)) {
      throw new UsageError(`flag -${name}: ${JSON.stringify(value)} is not a boolean`, name);
    }
    if (kind === "int" && !/^[+-]?\d{1,15}$/.test(value)) {
      throw new UsageError(`flag -${name}: ${JSON.stringify(value)} is not a whole number`, name);
    }
    const kept = values.get(name);
    if (kept !== undefined && kind === "list") kept.push(value);
    else values.set(name, [value]);
  }
  const last = (name: string): string | undefined => values.get(name)?.at(-1);
  return {
    bool: (name) => TRUE.has(last(name) ?? "false"),
    has: (name) => values.has(name),
    string: (name, fallback = "") => last(name) ?? fallback,
    int: (name, fallback) => (values.has(name) ? Number(last(name)) : fallback),
    list: (name) => values.get(name) ?? [],
    args: argv.slice(i),
  };
}
