import { OutriderError } from "@outrider/foundation";

/** One fault of a configuration block. @public */
export interface ConfigIssue {
  /** Where, such as `config.port_map[0]`. */
  readonly field: string;
  readonly message: string;
}

/**
 * A configuration block does not fit its schema; `issues` names every fault.
 * @public
 */
export class ConfigError extends OutriderError {
  override readonly name: string = "ConfigError";
  readonly issues: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[]) {
    const [first] = issues;
    const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
    super("ERR_OUTRIDER_PLUGIN_CONFIG", `${first?.field ?? "config"}: ${first?.message ?? "invalid"}${more}`, {
      details: { issues: issues.map(({ field, message }) => ({ field, message })) },
    });
    this.issues = issues;
  }
}
