import assert from "node:assert/strict";
import { ok } from "./ok.ts";

const BLOCK = 512;

/** An entry of a tar archive. */
export interface TarEntry {
  readonly name: string;
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly mtime: number;
  readonly linkname: string;
  readonly data: Buffer;
}

/** Reads a USTAR archive with PAX records; fails for anything malformed, and without the two blocks at the end. */
export function readTar(archive: Buffer): TarEntry[] {
  const entries: TarEntry[] = [];
  let pax: Record<string, string> = {};
  let at = 0;
  for (;;) {
    const head = archive.subarray(at, at + BLOCK);
    assert.equal(head.length, BLOCK, "the archive ends without its closing blocks");
    if (head.every((byte) => byte === 0)) {
      ok(archive.subarray(at).length >= 2 * BLOCK && archive.subarray(at).every((byte) => byte === 0), "rests");
      return entries;
    }
    const text = (from: number, length: number): string => {
      const field = head.subarray(from, from + length);
      const end = field.indexOf(0);
      return field.toString("utf8", 0, end < 0 ? length : end);
    };
    const octal = (from: number, length: number): number => Number.parseInt(`0${text(from, length).trim()}`, 8);
    let sum = 8 * 32;
    for (const [i, byte] of head.entries()) if (i < 148 || i >= 156) sum += byte;
    assert.equal(octal(148, 8), sum, "a header's checksum");
    const type = text(156, 1).replace(/^$/, "0");
    const size = Number(pax["size"] ?? octal(124, 12));
    const data = Buffer.from(archive.subarray(at + BLOCK, at + BLOCK + size));
    assert.equal(data.length, size, "an entry is shorter than its header tells");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (type === "x") {
      pax = records(data);
      continue;
    }
    const prefix = text(345, 155);
    entries.push({
      name: pax["path"] ?? (prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`),
      type,
      mode: octal(100, 8),
      size,
      mtime: Math.floor(Number(pax["mtime"] ?? octal(136, 12))),
      linkname: pax["linkpath"] ?? text(157, 100),
      data,
    });
    pax = {};
  }
}

function records(data: Buffer): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < data.length;) {
    const blank = data.indexOf(32, at);
    const length = Number(data.toString("latin1", at, blank));
    const record = data.toString("utf8", blank + 1, at + length - 1);
    found[record.slice(0, record.indexOf("="))] = record.slice(record.indexOf("=") + 1);
    at += length;
  }
  return found;
}
