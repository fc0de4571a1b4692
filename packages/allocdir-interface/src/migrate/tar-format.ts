/** The tar format as snapshots write it: USTAR where it fits, PAX records where it does not. */

/** Everything in an archive is a multiple of so many bytes. */
export const BLOCK_BYTES = 512;

/** What an archive says of one entry. */
export interface TarHeader {
  /** Relative, without a trailing slash. */
  readonly name: string;
  readonly type: "file" | "directory" | "symlink";
  /** Permission bits, set-id and sticky included. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly uname: string;
  readonly gname: string;
  /** Bytes of content; 0 for what is no file. */
  readonly size: number;
  /** Whole seconds since the epoch. */
  readonly mtime: number;
  /** Where a link leads; empty for others. */
  readonly linkname: string;
}

const TYPE_FLAGS = { file: "0", directory: "5", symlink: "2" } as const;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
const MAX_OCTAL_7 = 0o7777777;
const MAX_OCTAL_11 = 0o77777777777;
const ASCII = /^[\u0020-\u007e]*$/;

/** Bytes up to the next whole block. */
export const padding = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;

/** The header of an entry, preceded by PAX records where USTAR cannot hold something. */
export function encodeHeader(h: TarHeader): Buffer {
  const records = paxRecords(h);
  if (records.length === 0) return ustar(h, TYPE_FLAGS[h.type]);
  const content = Buffer.from(records.map(([key, value]) => paxRecord(key, value)).join(""));
  const leaf = h.name.slice(h.name.lastIndexOf("/") + 1);
  const extra: TarHeader = {
    ...PLAIN,
    name: `PaxHeaders.0/${asciiOf(leaf)}`.slice(0, NAME_BYTES),
    size: content.length,
  };
  return Buffer.concat([
    ustar(extra, "x"),
    content,
    Buffer.alloc(padding(content.length)),
    ustar({ ...h, name: asciiOf(h.name), linkname: asciiOf(h.linkname) }, TYPE_FLAGS[h.type]),
  ]);
}

const PLAIN: Omit<TarHeader, "name" | "size"> = {
  type: "file",
  mode: 0,
  uid: 0,
  gid: 0,
  uname: "",
  gname: "",
  mtime: 0,
  linkname: "",
};

const asciiOf = (text: string): string => text.replace(/[^\u0020-\u007e]/gu, "_");

/** What does not fit into USTAR, in the order of the keys. */
function paxRecords(h: TarHeader): Array<[string, string]> {
  const records: Array<[string, string]> = [];
  if (h.gid > MAX_OCTAL_7) records.push(["gid", String(h.gid)]);
  if (h.linkname.length > NAME_BYTES || !ASCII.test(h.linkname)) records.push(["linkpath", h.linkname]);
  if (h.mtime < 0 || h.mtime > MAX_OCTAL_11) records.push(["mtime", String(h.mtime)]);
  if (splitName(h.name) === undefined) records.push(["path", h.name]);
  if (h.size > MAX_OCTAL_11) records.push(["size", String(h.size)]);
  if (h.uid > MAX_OCTAL_7) records.push(["uid", String(h.uid)]);
  return records;
}

/** `<length> <key>=<value>\n`, the length counting itself. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/** A name in USTAR's two fields; undefined if it does not fit. */
function splitName(name: string): [prefix: string, name: string] | undefined {
  if (!ASCII.test(name)) return undefined;
  if (name.length <= NAME_BYTES) return ["", name];
  const slash = name.indexOf("/", name.length - NAME_BYTES - 1);
  return slash > 0 && slash <= PREFIX_BYTES ? [name.slice(0, slash), name.slice(slash + 1)] : undefined;
}

function ustar(h: TarHeader, flag: string): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const [prefix, name] = splitName(h.name) ?? ["", h.name.slice(0, NAME_BYTES)];
  const octal = (value: number, at: number, width: number, most: number): void => {
    block.write((value < 0 || value > most ? 0 : value).toString(8).padStart(width, "0"), at, "latin1");
  };
  block.write(name, 0, "latin1");
  octal(h.mode & 0o7777, 100, 7, MAX_OCTAL_7);
  octal(h.uid, 108, 7, MAX_OCTAL_7);
  octal(h.gid, 116, 7, MAX_OCTAL_7);
  octal(h.size, 124, 11, MAX_OCTAL_11);
  octal(h.mtime, 136, 11, MAX_OCTAL_11);
  block.write("        ", 148, "latin1");
  block.write(flag, 156, "latin1");
  block.write(h.linkname.slice(0, NAME_BYTES), 157, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  block.write(asciiOf(h.uname).slice(0, 31), 265, "latin1");
  block.write(asciiOf(h.gname).slice(0, 31), 297, "latin1");
  octal(0, 329, 7, 0);
  octal(0, 337, 7, 0);
  block.write(prefix, 345, "latin1");
  let sum = 0;
  for (let i = 0; i < BLOCK_BYTES; i++) sum += block[i] as number;
  block.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148, "latin1");
  return block;
}

/** Name of the entry that tells of a failed snapshot. */
export const errorEntryName = (allocId: string): string => `NOMAD-${allocId}-ERROR.log`;

/** Modification time of that entry: what Nomad gives it, seconds. */
const ERROR_MTIME = 943_920_000;

/** The entry that tells of a failed snapshot, padded to whole blocks. */
export function errorEntry(allocId: string, text: string): Buffer {
  const content = Buffer.from(`Error snapshotting: ${text}`);
  const header = encodeHeader({
    ...PLAIN,
    name: errorEntryName(allocId),
    mode: 0o666,
    size: content.length,
    mtime: ERROR_MTIME,
  });
  return Buffer.concat([header, content, Buffer.alloc(padding(content.length))]);
}

/** What ends an archive. */
export const TRAILER_BYTES: number = 2 * BLOCK_BYTES;
