/** Text that a POSIX shell reads back unchanged. */

/** Quotes one word. The text must hold no NUL. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes a command line. */
export function quoteAll(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Names that some shell sets, resets, or makes read-only itself. */
const ownedByShell =
  /^(_|IFS|PWD|OLDPWD|PPID|OPTIND|OPTARG|PS[0-9]|MAIL|MAILCHECK|MAILPATH|ENV|LINENO|SHLVL|SHELLOPTS|UID|EUID|GROUPS|RANDOM|SRANDOM|SECONDS|DIRSTACK|HISTCMD|HISTSIZE|FUNCNAME|POSIXLY_CORRECT|EPOCH.*|BASH.*|COMP_.*)$/;

/** Whether `export NAME='…'` brings a variable to the task unchanged; else it has to be an argument of env. */
export function isExportable(name: string): boolean {
  return identifier.test(name) && !ownedByShell.test(name);
}
