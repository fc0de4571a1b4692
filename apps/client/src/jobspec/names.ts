/** Longest name of a job, group or task, in bytes of UTF-8: with its endings it must fit into a file name. */
export const MAX_NAME_BYTES = 200;

/** Controls, formats (joiners, direction marks), surrogates, private use, unassigned, line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/** What is wrong with a name. */
export interface NameFault {
  readonly code:
    | "name-empty"
    | "name-long"
    | "name-slash"
    | "name-dots"
    | "name-unprintable"
    | "name-blank-edge"
    | "name-space"
    | "name-reserved";
  readonly message: string;
}

/**
 * Checks that a name is one plain printable path segment, as every name that becomes part of a path, an address or a
 * line of output must be. Undefined when it is.
 */
export function nameFault(name: string): NameFault | undefined {
  if (name === "") return { code: "name-empty", message: "is missing" };
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    return { code: "name-long", message: `is longer than ${MAX_NAME_BYTES} bytes` };
  }
  if (name === "." || name === "..") return { code: "name-dots", message: 'must not be "." or ".."' };
  if (/[/\\]/.test(name)) return { code: "name-slash", message: "must not contain a slash or backslash" };
  if (UNPRINTABLE.test(name)) return { code: "name-unprintable", message: "must hold printable characters only" };
  // Objects of JavaScript cannot hold it as a key of their own everywhere.
  if (name === "__proto__") return { code: "name-reserved", message: "is reserved" };
  if (name.trim() !== name) return { code: "name-blank-edge", message: "must not start or end with a space" };
  return undefined;
}

/** A job's ID: a plain name without any space, as it stands in commands and addresses. */
export function jobIdFault(id: string): NameFault | undefined {
  const fault = nameFault(id);
  if (fault !== undefined) return fault;
  return /\s/u.test(id) ? { code: "name-space", message: "must not contain a space" } : undefined;
}

/** A task's name: a plain name that is not the shared folder's. */
export function taskNameFault(name: string): NameFault | undefined {
  const fault = nameFault(name);
  if (fault !== undefined) return fault;
  return name === "alloc" ? { code: "name-reserved", message: 'must not be "alloc", the shared folder' } : undefined;
}
