import { crc32 } from "node:zlib";

/** Version of the record layout and payload. A newer one is refused. */
export const JOURNAL_FORMAT = 1;
/** Longest payload that is written or believed. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** Starts each record. The first byte never occurs in UTF-8 text, so no payload can look like a record. */
const MAGIC = Buffer.from([0xf5, 0x4f, 0x4a, 0x01]);
const HEADER_BYTES = 12;

/** A record that was read back, with where it began. */
export interface FoundRecord {
  readonly offset: number;
  readonly payload: string;
}

/** What a scan of a journal found. */
export interface JournalScan {
  readonly records: readonly FoundRecord[];
  /** Where the last good record before any damage ends: a torn tail is cut here. */
  readonly goodEnd: number;
  /** Places where bytes are no record although good records follow. */
  readonly damage: readonly { readonly offset: number; readonly reason: string }[];
  /** Bytes at the end that are no record and have none behind them. */
  readonly tornBytes: number;
}

/** Encodes a payload as magic, length, CRC-32 of length and payload, payload. */
export function encodeRecord(payload: string): Buffer {
  const length = Buffer.byteLength(payload, "utf8");
  const record = Buffer.allocUnsafe(HEADER_BYTES + length);
  MAGIC.copy(record, 0);
  record.writeUInt32LE(length, 4);
  record.write(payload, HEADER_BYTES, "utf8");
  record.writeUInt32LE(checksum(record, HEADER_BYTES, length), 8);
  return record;
}

/** Reads all records; after damage it looks for the next good record. */
export function scanJournal(bytes: Buffer): JournalScan {
  const records: FoundRecord[] = [];
  const damage: Array<{ offset: number; reason: string }> = [];
  let at = 0;
  let goodEnd = 0;
  while (at < bytes.length) {
    const reason = whyNotRecord(bytes, at);
    if (reason === undefined) {
      const length = bytes.readUInt32LE(at + 4);
      records.push({ offset: at, payload: bytes.toString("utf8", at + HEADER_BYTES, at + HEADER_BYTES + length) });
      at += HEADER_BYTES + length;
      if (damage.length === 0) goodEnd = at;
      continue;
    }
    const next = nextRecord(bytes, at + 1);
    if (next === -1) return { records, goodEnd, damage, tornBytes: bytes.length - at };
    damage.push({ offset: at, reason });
    at = next;
  }
  return { records, goodEnd, damage, tornBytes: 0 };
}

function whyNotRecord(bytes: Buffer, at: number): string | undefined {
  if (at + HEADER_BYTES > bytes.length) return "header cut short";
  if (bytes.compare(MAGIC, 0, MAGIC.length, at, at + MAGIC.length) !== 0) return "no record begins here";
  const length = bytes.readUInt32LE(at + 4);
  if (length === 0 || length > MAX_RECORD_BYTES) return `impossible length ${length}`;
  if (at + HEADER_BYTES + length > bytes.length) return "payload cut short";
  if (bytes.readUInt32LE(at + 8) !== checksum(bytes, at + HEADER_BYTES, length)) return "checksum does not match";
  return undefined;
}

function nextRecord(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(MAGIC, from); at !== -1; at = bytes.indexOf(MAGIC, at + 1)) {
    if (whyNotRecord(bytes, at) === undefined) return at;
  }
  return -1;
}

function checksum(bytes: Buffer, from: number, length: number): number {
  const size = Buffer.allocUnsafe(4);
  size.writeUInt32LE(length, 0);
  return crc32(bytes.subarray(from, from + length), crc32(size));
}
