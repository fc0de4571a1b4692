import { Source } from "./source.ts";

/** The length of the well-formed UTF-8 sequence at `i`, or 0. */
const sequence = (b: Uint8Array, i: number): number => {
  const lead = b[i] as number;
  if (lead < 0x80) return 1;
  const next = b[i + 1] ?? 0;
  const tail = (k: number): boolean => ((b[i + k] ?? 0) & 0xc0) === 0x80;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    if (lead === 0xe0 && next < 0xa0) return 0;
    return lead === 0xed && next > 0x9f ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (lead === 0xf0 && next < 0x90) return 0;
    return lead === 0xf4 && next > 0x8f ? 0 : 4;
  }
  return 0;
};

/** After so many wrong bytes the rest is cut off: the text is refused anyway. */
const MAX_BAD = 1_000;

/** Decodes byte by byte: each byte that is not UTF-8 becomes one U+FFFD whose offset is noted. */
const decodeBroken = (bytes: Uint8Array): { text: string; bad: number[] } => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const parts: string[] = [];
  const bad: number[] = [];
  let length = 0;
  let from = 0;
  const flush = (to: number): void => {
    if (to <= from) return;
    const part = decoder.decode(bytes.subarray(from, to));
    parts.push(part);
    length += part.length;
  };
  let i = 0;
  while (i < bytes.length && bad.length < MAX_BAD) {
    const n = sequence(bytes, i);
    if (n > 0) {
      i += n;
      continue;
    }
    flush(i);
    parts.push("\ufffd");
    bad.push(length++);
    from = ++i;
  }
  flush(i);
  return { text: parts.join(""), bad };
};

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Makes a source of text or bytes; a leading byte order mark is dropped. */
export const decodeSource = (input: string | Uint8Array, filename: string): Source => {
  let text: string;
  let bad: number[] = [];
  if (typeof input === "string") {
    text = input;
    for (const m of text.matchAll(LONE_SURROGATE)) {
      bad.push(m.index);
      if (bad.length < MAX_BAD) continue;
      text = text.slice(0, m.index + 1);
      break;
    }
    if (bad.length > 0) text = text.replace(LONE_SURROGATE, "\ufffd");
  } else {
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input);
    } catch {
      ({ text, bad } = decodeBroken(input));
    }
  }
  if (!text.startsWith("\ufeff")) return new Source(text, filename, bad);
  return new Source(
    text.slice(1),
    filename,
    bad.map((b) => b - 1),
    3,
  );
};
