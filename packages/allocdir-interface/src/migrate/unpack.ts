import { AllocDirError } from "../alloc-dir-error.ts";
import { MAX_DEPTH, MAX_NAME_BYTES } from "./archive-writer.ts";
import { ByteSource } from "./byte-source.ts";
import { TarReader, type TarEntry } from "./tar-reader.ts";

/** Read at once of what follows the end of an archive, bytes. */
const REST_BYTES = 65_536;
/** Longest part of a name, bytes. */
const MAX_PART_BYTES = 255;
/** So much is kept of what an archive says of its failure, bytes. */
const MAX_ERROR_TEXT_BYTES = 64 * 1024;
/** Entries of an archive at most, unless told otherwise. */
export const DEFAULT_MAX_ENTRIES = 1_000_000;

/** What an archive says of an entry that was let in. `mode` has permission bits only. */
export interface UnpackedEntry {
  /** Below the destination, part by part; the first two are `alloc`, `data` or a task and `local`. */
  readonly parts: readonly string[];
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtime: number;
}

/** Where the entries of an archive go. Parents that have no entry of their own are the sink's to make. @internal */
export interface UnpackSink {
  directory(entry: UnpackedEntry): Promise<void>;
  /** Replaces what has the name, unless it is a directory. `content` gives the pieces, each valid until the next. */
  file(entry: UnpackedEntry, size: number, content: () => Promise<Uint8Array | undefined>): Promise<void>;
  symlink(entry: UnpackedEntry, target: string): Promise<void>;
}

/** What is let in. @public */
export interface UnpackRules {
  /** Whose `local` may be in the archive. */
  readonly tasks: readonly string[];
  /** Bytes of content in all. Default: no limit. */
  readonly maxBytes?: number;
  /** Default {@link DEFAULT_MAX_ENTRIES}. */
  readonly maxEntries?: number;
  /** Leaves out hard links, devices and the like instead of refusing the archive. */
  readonly skipOtherTypes?: boolean;
  /** Takes an archive that ends without its closing blocks: those of other makers may. */
  readonly trailerOptional?: boolean;
  readonly signal?: AbortSignal;
  /** The archive was made on this machine just now: links and set-id bits stay as they are, other tasks are left out. @internal */
  readonly ownMake?: boolean;
}

/** What came out of an archive. @public */
export interface UnpackReport {
  readonly entries: number;
  readonly bytes: number;
  /** Left out for their type. */
  readonly skipped: number;
  /** Whether the archive had its closing blocks. */
  readonly complete: boolean;
}

/** Reads an archive of unknown make and hands on what the rules let in; everything else, and any sign of damage, rejects. */
export async function unpackArchive(
  source: AsyncIterable<Uint8Array>,
  sink: UnpackSink,
  rules: UnpackRules,
): Promise<UnpackReport> {
  const bytes = new ByteSource(source);
  try {
    const report = await new Unpacker(new TarReader(bytes), sink, rules).run();
    // A writer of this process must not find the stream closed before it has ended it.
    if (rules.ownMake === true) while ((await bytes.some(REST_BYTES)).length > 0);
    return report;
  } finally {
    await bytes.close();
  }
}

class Unpacker {
  readonly #tar: TarReader;
  readonly #sink: UnpackSink;
  readonly #rules: UnpackRules;
  readonly #roots: ReadonlySet<string>;
  #entries = 0;
  #bytes = 0;
  #skipped = 0;

  constructor(tar: TarReader, sink: UnpackSink, rules: UnpackRules) {
    this.#tar = tar;
    this.#sink = sink;
    this.#rules = rules;
    this.#roots = new Set(["alloc/data", ...rules.tasks.map((task) => `${task}/local`)]);
  }

  async run(): Promise<UnpackReport> {
    const { signal, maxEntries = DEFAULT_MAX_ENTRIES, trailerOptional = false } = this.#rules;
    for (;;) {
      signal?.throwIfAborted();
      const entry = await this.#tar.next();
      if (entry === undefined) break;
      if (++this.#entries > maxEntries) throw limit(`more than ${maxEntries} entries`, entry);
      await this.#entry(entry);
    }
    if (!this.#tar.sawTrailer && !trailerOptional)
      throw new AllocDirError("ARCHIVE_TRUNCATED", "the archive ends without its closing blocks", "");
    return {
      entries: this.#entries,
      bytes: this.#bytes,
      skipped: this.#skipped,
      complete: this.#tar.sawTrailer,
    };
  }

  async #entry(entry: TarEntry): Promise<void> {
    if (/^NOMAD-[0-9a-fA-F-]{36}-ERROR\.log$/.test(entry.name)) throw await this.#remoteError();
    const { ownMake = false } = this.#rules;
    const parts = partsOf(entry);
    // Tasks that are not in the new group stay where they are.
    if (ownMake && parts[1] === "local" && !this.#roots.has(`${parts[0]}/local`)) return;
    if (parts.length < 2 || !this.#roots.has(`${parts[0]}/${parts[1]}`))
      throw new AllocDirError(
        "ARCHIVE_ENTRY",
        `the archive holds ${shown(entry.name)}, which is no part of a disk`,
        "",
        {
          details: { field: "name", text: entry.name.slice(0, 200) },
        },
      );
    const { mode, uid, gid, mtime } = entry;
    const known: UnpackedEntry = { parts, mode: mode & (ownMake ? 0o7777 : 0o777), uid, gid, mtime };
    if (entry.flag === "5") return this.#sink.directory(known);
    // A root of the archive is a directory, or the disk would be something else.
    if (parts.length === 2) throw typeError(entry);
    if (entry.flag === "2") return this.#sink.symlink(known, ownMake ? entry.linkname : checkedTarget(entry, parts));
    if (entry.flag === "0") return this.#file(entry, known);
    if (this.#rules.skipOtherTypes !== true) throw typeError(entry);
    this.#skipped++;
  }

  async #file(entry: TarEntry, known: UnpackedEntry): Promise<void> {
    const { maxBytes = Number.POSITIVE_INFINITY, signal } = this.#rules;
    // Known before anything is written: the header tells the size.
    if (this.#bytes + entry.size > maxBytes) throw limit(`more than ${maxBytes} bytes of content`, entry);
    this.#bytes += entry.size;
    await this.#sink.file(known, entry.size, () => {
      signal?.throwIfAborted();
      return this.#tar.content();
    });
  }

  async #remoteError(): Promise<AllocDirError> {
    const parts: Buffer[] = [];
    let length = 0;
    for (let some = await this.#tar.content(); some !== undefined; some = await this.#tar.content()) {
      if (length < MAX_ERROR_TEXT_BYTES) parts.push(Buffer.from(some));
      length += some.length;
    }
    const said = Buffer.concat(parts).subarray(0, MAX_ERROR_TEXT_BYTES).toString();
    return new AllocDirError("ARCHIVE_REMOTE", `the snapshot failed where it was made: ${oneLine(said)}`, "");
  }
}

const oneLine = (said: string): string => said.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();

const shown = (name: string): string => JSON.stringify(name.slice(0, 200));

const limit = (what: string, entry: TarEntry): AllocDirError =>
  new AllocDirError("ARCHIVE_LIMIT", `the archive holds ${what}, at ${shown(entry.name)}`, "");

const typeError = (entry: TarEntry): AllocDirError =>
  new AllocDirError(
    "ARCHIVE_TYPE",
    `the archive holds ${shown(entry.name)} of a type ${JSON.stringify(entry.flag)} that is not taken`,
    "",
    {
      details: { field: "typeflag", text: entry.flag },
    },
  );

/** The parts of an entry's name; refuses what is no plain relative one. */
function partsOf(entry: TarEntry): string[] {
  const name = entry.flag === "5" ? entry.name.replace(/\/$/, "") : entry.name;
  const bad = (what: string): AllocDirError =>
    new AllocDirError("ARCHIVE_ESCAPE", `archive contains object that escapes alloc dir: ${shown(name)} ${what}`, "", {
      details: { field: "name", text: name.slice(0, 200) },
    });
  if (name === "" || name.startsWith("/")) throw bad("is empty or absolute");
  if (name.includes("\0")) throw bad("holds a NUL");
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw bad("is too long");
  const parts = name.split("/");
  for (const part of parts) {
    if (part === "" || part === "." || part === "..") throw bad("holds a part that is no name");
    if (Buffer.byteLength(part) > MAX_PART_BYTES) throw bad("holds a part that is too long");
  }
  if (parts.length > MAX_DEPTH + 2) throw limit(`names nested deeper than ${MAX_DEPTH}`, entry);
  return parts;
}

/** Where a link leads; refuses what leaves the destination, seen from the link's own directory. */
function checkedTarget(entry: TarEntry, parts: readonly string[]): string {
  const target = entry.linkname;
  const bad = (): AllocDirError =>
    new AllocDirError(
      "ARCHIVE_ESCAPE",
      `archive contains symlink that escapes alloc dir: ${shown(entry.name)} to ${shown(target)}`,
      "",
      { details: { field: "linkname", text: target.slice(0, 200) } },
    );
  if (target === "" || target.startsWith("/") || target.includes("\0") || Buffer.byteLength(target) > MAX_NAME_BYTES)
    throw bad();
  let depth = parts.length - 1;
  let descended = false;
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") descended = true;
    // Up only at the beginning: behind a name, which may be another link, nobody knows where up leads.
    else if (descended || --depth < 0) throw bad();
  }
  return target;
}
