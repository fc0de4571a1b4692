/** Finding the program of a task and checking what the kernel would refuse. */
import { RecoverableError } from "@outrider/plugin-driver";
import { statSync } from "node:fs";
import { join } from "node:path";
import { findOnPath, isExecutableFile } from "./host-tools.ts";

/** The kernel's limit for one argument or variable, its NUL included. */
export const MAX_STRING_BYTES = 131_072;
/** A safe part of the kernel's limit for all arguments and variables together. */
export const MAX_TOTAL_BYTES = 2 * 1024 * 1024 - 64 * 1024;

/**
 * The absolute path of a command: in the task's `local` folder, the task's folder, then on the search path.
 * @throws RecoverableError (not recoverable) when there is none or it cannot be executed
 */
export function resolveCommand(command: string, taskDir: string, searchPath: string): string {
  if (command.startsWith("/")) return checkProgram(command, command);
  for (const candidate of [join(taskDir, "local", command), join(taskDir, command)]) {
    if (exists(candidate)) return checkProgram(candidate, command);
  }
  const found = command.includes("/") ? undefined : findOnPath(command, searchPath);
  if (found === undefined) throw notFound(command);
  return found;
}

function checkProgram(path: string, command: string): string {
  if (!exists(path)) throw notFound(command);
  if (!isExecutableFile(path))
    throw new RecoverableError(launchFailed(`binary ${JSON.stringify(command)} is not executable`), false);
  return path;
}

function exists(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Refuses what `execve` would: a string or a sum that is too long. */
export function checkSizes(args: readonly string[], env: Readonly<Record<string, string>>): void {
  let total = 0;
  const count = (field: string, text: string): void => {
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > MAX_STRING_BYTES) {
      throw new RecoverableError(
        launchFailed(`${field} is ${bytes - 1} bytes long, the limit is ${MAX_STRING_BYTES - 1}`),
        false,
      );
    }
    total += bytes + 8;
  };
  args.forEach((arg, index) => count(`argument ${index}`, arg));
  for (const [name, value] of Object.entries(env)) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw new RecoverableError(launchFailed(`environment variable ${JSON.stringify(name)} cannot be passed`), false);
    }
    count(`environment variable ${name}`, `${name}=${value}`);
  }
  if (total > MAX_TOTAL_BYTES) {
    throw new RecoverableError(
      launchFailed(`arguments and environment take ${total} bytes, the limit is ${MAX_TOTAL_BYTES}`),
      false,
    );
  }
}

/** Drops variables by name or pattern with `*`. */
export function withoutDenied(
  env: Readonly<Record<string, string>>,
  denied: readonly string[],
): Readonly<Record<string, string>> {
  if (denied.length === 0) return env;
  const patterns = denied.map(
    (glob) =>
      new RegExp(
        `^${glob
          .split("*")
          .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
          .join(".*")}$`,
        "s",
      ),
  );
  return Object.fromEntries(Object.entries(env).filter(([name]) => !patterns.some((pattern) => pattern.test(name))));
}

function notFound(command: string): RecoverableError {
  return new RecoverableError(launchFailed(`binary ${JSON.stringify(command)} could not be found`), false);
}

/** The words under which a stock agent shows a failed launch. */
const LAUNCH_FAILED = "failed to launch command with executor: rpc error: code = Unknown desc = ";

function launchFailed(why: string): string {
  return LAUNCH_FAILED + why;
}

/** The same failure of an exec, shorter: a stock agent hands on no more than 123 bytes, of which its own words take a third, and else nothing. */
export function asExecFailure(reason: unknown): unknown {
  if (!(reason instanceof RecoverableError) || !reason.message.startsWith(LAUNCH_FAILED)) return reason;
  return new RecoverableError(`failed to start command: ${reason.message.slice(LAUNCH_FAILED.length)}`, false);
}
