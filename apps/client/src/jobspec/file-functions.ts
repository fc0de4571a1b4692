import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize, resolve, sep } from "node:path";
import { homedir } from "node:os";
import { FunctionError, type HclFunction, type HclType, type Value } from "@outrider/hcl";
import { MAX_READ_BYTES } from "./limits.ts";

const STRING: HclType = { kind: "string" };
/** Most files that one fileset looks at. */
const MAX_FILES = 10_000;

/** How file functions reach files; tests and servers give their own. */
export interface FileAccess {
  /** The whole file. Throws when there is none. */
  read(path: string): Uint8Array;
  /** Whether it is a plain file. */
  exists(path: string): boolean;
  /** Names in a folder, folders with a final slash. */
  list(path: string): readonly string[];
}

/** The files of this machine. */
export const localFiles: FileAccess = {
  read(path) {
    const { size } = statSync(path);
    if (size > MAX_READ_BYTES) throw new Error(`the file has ${size} bytes, more than ${MAX_READ_BYTES}`);
    const data = readFileSync(path);
    if (data.length > MAX_READ_BYTES) throw new Error(`the file has more than ${MAX_READ_BYTES} bytes`);
    return data;
  },
  exists(path) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !found.isFile()) throw new Error("it is no plain file");
    return found !== undefined;
  },
  list(path) {
    return readdirSync(path, { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${entry.name}/` : entry.name,
    );
  },
};

/** Nobody's files: for job files that come from somebody else. */
export const noFiles: FileAccess = {
  read() {
    throw new Error("files cannot be read here");
  },
  exists() {
    throw new Error("files cannot be read here");
  },
  list() {
    throw new Error("files cannot be read here");
  },
};

/** Why a file cannot be read, without its path. */
export const unreadable = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message: string };
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "it may not be read";
  if (code === "EISDIR") return "it is a folder";
  return message;
};

/** A shell pattern as a regular expression over a whole relative path. */
function patternOf(glob: string): RegExp {
  let out = "";
  for (let i = 0; i < glob.length; i += 1) {
    const c = glob[i] as string;
    if (c === "*" && glob[i + 1] === "*") {
      const slash = glob[i + 2] === "/";
      out += slash ? "(?:[^/]+/)*" : ".*";
      i += slash ? 2 : 1;
    } else if (c === "*") out += "[^/]*";
    else if (c === "?") out += "[^/]";
    else if (c === "[") {
      const end = glob.indexOf("]", i + 2);
      if (end === -1) throw new FunctionError("the pattern has an open bracket", 1);
      const inner = glob
        .slice(i + 1, end)
        .replaceAll("\\", "\\\\")
        .replace(/^[!^]/, "^");
      out += `[${inner}]`;
      i = end;
    } else if (c === "{") out += "(?:";
    else if (c === "}") out += ")";
    else if (c === "," && out.includes("(?:")) out += "|";
    else out += c.replaceAll(/[.+^$()|\\\]]/g, String.raw`\$&`);
  }
  try {
    return new RegExp(`^${out}$`, "u");
  } catch {
    throw new FunctionError("the pattern cannot be understood", 1);
  }
}

function matches(files: FileAccess, root: string, glob: string): string[] {
  const pattern = patternOf(glob);
  const deep = glob.includes("/") || glob.includes("**");
  const found: string[] = [];
  const pending = [""];
  let seen = 0;
  while (pending.length > 0) {
    const folder = pending.pop() as string;
    for (const name of files.list(join(root, folder))) {
      seen += 1;
      if (seen > MAX_FILES) throw new FunctionError(`there are more than ${MAX_FILES} files`, 0);
      const path = folder + name;
      if (!name.endsWith("/")) {
        if (pattern.test(path)) found.push(path);
      } else if (deep && path.split("/").length < 32) pending.push(path);
    }
  }
  return found.sort();
}

const path = { name: "path", type: STRING } as const;
const define = (call: (path: string) => Value): HclFunction => ({
  params: [path],
  call: ([given]) => {
    try {
      return call(given as string);
    } catch (error) {
      if (error instanceof FunctionError) throw error;
      throw new FunctionError(`cannot read ${JSON.stringify(given)}: ${unreadable(error)}`, 0);
    }
  },
});

function text(data: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new FunctionError("the file is not UTF-8 text; use filebase64", 0);
  }
}

/** The functions that read files and handle paths; relative paths start at `cwd`. */
export function fileFunctions(cwd: string, files: FileAccess): Readonly<Record<string, HclFunction>> {
  const at = (given: string): string => resolve(cwd, given.startsWith("~/") ? join(homedir(), given.slice(2)) : given);
  return {
    file: define((given) => text(files.read(at(given)))),
    filebase64: define((given) => Buffer.from(files.read(at(given))).toString("base64")),
    fileexists: define((given) => files.exists(at(given))),
    fileset: {
      params: [path, { name: "pattern", type: STRING }],
      call: ([given, glob], c) => {
        try {
          const found = matches(files, at(given as string), normalize(glob as string));
          c.charge(found.length, found.length);
          return found;
        } catch (error) {
          if (error instanceof FunctionError) throw error;
          throw new FunctionError(`cannot read ${JSON.stringify(given)}: ${unreadable(error)}`, 0);
        }
      },
    },
    basename: define((given) => basename(given)),
    dirname: define((given) => dirname(given)),
    abspath: define((given) => (isAbsolute(given) ? normalize(given) : resolve(cwd, given)).split(sep).join("/")),
    pathexpand: define((given) => (given === "~" || given.startsWith("~/") ? join(homedir(), given.slice(1)) : given)),
  };
}
