import { PassThrough, type Writable } from "node:stream";
import type { AllocDir } from "../../src/index.ts";
import { ByteSource } from "../../src/migrate/byte-source.ts";
import { TarReader, type TarEntry } from "../../src/migrate/tar-reader.ts";

/** A raw header, right in form whatever it says. */
export function rawHeader(o: {
  name: string;
  flag?: string;
  size?: number | string;
  mode?: number;
  uid?: number;
  linkname?: string;
  prefix?: string;
  magic?: string;
}): Buffer {
  const block = Buffer.alloc(512);
  const put = (text: string, at: number): void => void block.write(text, at, "utf8");
  put(o.name, 0);
  put((o.mode ?? 0o644).toString(8).padStart(7, "0"), 100);
  put((o.uid ?? 0).toString(8).padStart(7, "0"), 108);
  put("0000000", 116);
  put(typeof o.size === "string" ? o.size : (o.size ?? 0).toString(8).padStart(11, "0"), 124);
  put("07346545000", 136);
  put(o.flag ?? "0", 156);
  put(o.linkname ?? "", 157);
  put(o.magic ?? "ustar\u000000", 257);
  put(o.prefix ?? "", 345);
  return checksummed(block);
}

export function checksummed(block: Buffer): Buffer {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((a, b) => a + b, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

export const padded = (content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content);
  return Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
};

/** A regular file with its content. */
export const rawFile = (name: string, content: string, o: { mode?: number; uid?: number } = {}): Buffer =>
  Buffer.concat([rawHeader({ name, size: Buffer.byteLength(content), ...o }), padded(content)]);

export const rawDir = (name: string, mode = 0o755): Buffer => rawHeader({ name, flag: "5", mode });

export const rawLink = (name: string, linkname: string): Buffer => rawHeader({ name, flag: "2", linkname });

/** PAX records for the next entry. */
export function pax(records: Record<string, string>): Buffer {
  const text = Object.entries(records)
    .map(([key, value]) => {
      const rest = Buffer.byteLength(` ${key}=${value}\n`);
      let length = rest + 1;
      while (rest + String(length).length !== length) length = rest + String(length).length;
      return `${length} ${key}=${value}\n`;
    })
    .join("");
  return Buffer.concat([rawHeader({ name: "PaxHeaders.0/x", flag: "x", size: Buffer.byteLength(text) }), padded(text)]);
}

export const TRAILER: Buffer = Buffer.alloc(1024);

/** The pieces of an archive, in portions of an awkward size. */
export async function* pieces(parts: readonly Buffer[], size = 700): AsyncGenerator<Uint8Array> {
  const whole = Buffer.concat(parts);
  for (let at = 0; at < whole.length; at += size) {
    await Promise.resolve();
    yield whole.subarray(at, at + size);
  }
}

/** A writable that keeps everything. */
export function collector(): { out: Writable; bytes: () => Buffer } {
  const parts: Buffer[] = [];
  const out = new PassThrough();
  out.on("data", (part: Buffer) => parts.push(Buffer.from(part)));
  out.on("error", () => undefined);
  return { out, bytes: () => Buffer.concat(parts) };
}

/** All entries of an archive with their contents. */
export async function readAll(bytes: Buffer): Promise<{ entries: (TarEntry & { text: string })[]; trailer: boolean }> {
  const reader = new TarReader(new ByteSource(pieces([bytes], 10_000)));
  const entries: (TarEntry & { text: string })[] = [];
  for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
    const parts: Buffer[] = [];
    for (let some = await reader.content(); some !== undefined; some = await reader.content())
      parts.push(Buffer.from(some));
    entries.push({ ...entry, text: Buffer.concat(parts).toString() });
  }
  return { entries, trailer: reader.sawTrailer };
}

export async function snapshotOf(alloc: AllocDir): Promise<Buffer> {
  const { out, bytes } = collector();
  await alloc.snapshot(out);
  return bytes();
}
