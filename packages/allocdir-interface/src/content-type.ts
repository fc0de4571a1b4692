const UNKNOWN = "application/octet-stream";
const TEXT = "text/plain; charset=utf-8";

/** A signature: bytes at an offset, `-1` for any byte. */
type Signature = readonly [type: string, offset: number, bytes: readonly number[]];

const ascii = (text: string): number[] => [...Buffer.from(text, "latin1")];
const any = (n: number): number[] => Array.from({ length: n }, () => -1);

const SIGNATURES: readonly Signature[] = [
  ["application/pdf", 0, ascii("%PDF-")],
  ["application/postscript", 0, ascii("%!PS-Adobe-")],
  ["text/plain; charset=utf-16be", 0, [0xfe, 0xff]],
  ["text/plain; charset=utf-16le", 0, [0xff, 0xfe]],
  ["text/plain; charset=utf-8", 0, [0xef, 0xbb, 0xbf]],
  ["image/x-icon", 0, [0, 0, 1, 0]],
  ["image/x-icon", 0, [0, 0, 2, 0]],
  ["image/bmp", 0, ascii("BM")],
  ["image/gif", 0, ascii("GIF87a")],
  ["image/gif", 0, ascii("GIF89a")],
  ["image/webp", 0, [...ascii("RIFF"), ...any(4), ...ascii("WEBPVP")]],
  ["image/png", 0, [0x89, ...ascii("PNG\r\n"), 0x1a, 0x0a]],
  ["image/jpeg", 0, [0xff, 0xd8, 0xff]],
  ["audio/aiff", 0, [...ascii("FORM"), ...any(4), ...ascii("AIFF")]],
  ["audio/mpeg", 0, ascii("ID3")],
  ["application/ogg", 0, ascii("OggS\0")],
  ["audio/midi", 0, [...ascii("MThd"), 0, 0, 0, 6]],
  ["video/avi", 0, [...ascii("RIFF"), ...any(4), ...ascii("AVI ")]],
  ["audio/wave", 0, [...ascii("RIFF"), ...any(4), ...ascii("WAVE")]],
  ["video/webm", 0, [0x1a, 0x45, 0xdf, 0xa3]],
  ["application/vnd.ms-fontobject", 34, ascii("LP")],
  ["font/ttf", 0, [0, 1, 0, 0]],
  ["font/otf", 0, ascii("OTTO")],
  ["font/collection", 0, ascii("ttcf")],
  ["font/woff", 0, ascii("wOFF")],
  ["font/woff2", 0, ascii("wOF2")],
  ["application/x-gzip", 0, [0x1f, 0x8b, 8]],
  ["application/zip", 0, [...ascii("PK"), 3, 4]],
  ["application/x-rar-compressed", 0, [...ascii("Rar!"), 0x1a, 7, 0]],
  ["application/x-rar-compressed", 0, [...ascii("Rar!"), 0x1a, 7, 1, 0]],
  ["application/wasm", 0, ascii("\0asm")],
];

const HTML_TAGS = /^<(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT|TABLE|A|STYLE|TITLE|B|BODY|BR|P|!--)[ >]/i;

const matches = (head: Uint8Array, [, offset, bytes]: Signature): boolean =>
  head.length >= offset + bytes.length && bytes.every((b, i) => b < 0 || head[offset + i] === b);

function isMp4(head: Uint8Array): boolean {
  if (head.length < 12) return false;
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const size = view.getUint32(0);
  const text = Buffer.from(head).toString("latin1");
  if (size > head.length || size % 4 !== 0 || text.slice(4, 8) !== "ftyp") return false;
  for (let at = 8; at < size; at += 4) if (at !== 12 && text.slice(at, at + 3) === "mp4") return true;
  return false;
}

/** The type of a file by its first 512 bytes (WHATWG MIME sniffing, in the order Go's server applies it). `.json` is told by the name. */
export function sniffContentType(name: string, head: Uint8Array): string {
  if (name.endsWith(".json")) return "application/json";
  if (head.length === 0) return UNKNOWN;
  const text = Buffer.from(head)
    .toString("latin1")
    .replace(/^[\t\n\f\r ]+/, "");
  if (HTML_TAGS.test(text)) return "text/html; charset=utf-8";
  if (text.startsWith("<?xml")) return "text/xml; charset=utf-8";
  const found = SIGNATURES.find((s) => matches(head, s));
  if (found !== undefined) return found[0];
  if (isMp4(head)) return "video/mp4";
  return head.some((b) => b <= 8 || b === 0x0b || (b >= 0x0e && b <= 0x1a) || (b >= 0x1c && b <= 0x1f))
    ? UNKNOWN
    : TEXT;
}
