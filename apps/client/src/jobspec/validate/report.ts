/** A fault of one field of a job. */
export interface JobFieldError {
  /** Stable, e.g. `name-slash`. */
  readonly code: string;
  /** Path in the job, e.g. `TaskGroups[0].Tasks[1].KillSignal`. */
  readonly field: string;
  /** The offending text, shortened. */
  readonly value: string;
  /** One sentence that names group and task. */
  readonly message: string;
}

const MAX_VALUE = 120;
/** Most faults that are collected: a job with more of them is not read further by anybody. */
const MAX_ERRORS = 200;

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

/** Collects faults; `at` makes a view one step further inside. */
export class Report {
  readonly #errors: JobFieldError[];
  readonly #warnings: string[];
  readonly #path: string;
  readonly #where: string;

  constructor(errors: JobFieldError[] = [], warnings: string[] = [], path = "", where = "") {
    this.#errors = errors;
    this.#warnings = warnings;
    this.#path = path;
    this.#where = where;
  }

  /** The part under a key; `where` is what a reader calls it, e.g. `task "web"`. */
  at(key: string, where?: string): Report {
    const path = this.#path === "" ? key : `${this.#path}.${key}`;
    const joined = where === undefined ? this.#where : this.#where === "" ? where : `${this.#where}, ${where}`;
    return new Report(this.#errors, this.#warnings, path, joined);
  }

  error(code: string, key: string, value: unknown, message: string): void {
    if (this.#errors.length >= MAX_ERRORS) return;
    const field = key === "" ? this.#path : this.#path === "" ? key : `${this.#path}.${key}`;
    const prefix = this.#where === "" ? "" : `${this.#where}: `;
    this.#errors.push({ code, field, value: shown(value), message: `${prefix}${message}` });
  }

  warn(message: string): void {
    this.#warnings.push(this.#where === "" ? message : `${this.#where}: ${message}`);
  }

  get errors(): readonly JobFieldError[] {
    return this.#errors;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }
}
