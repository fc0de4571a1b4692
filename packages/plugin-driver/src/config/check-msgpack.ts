/** Looks through msgpack bytes before they are decoded: a decoder believes the lengths that it is told, and a few bytes can ask for gigabytes. */

/** Deeper than any configuration that a person writes. */
const MAX_DEPTH = 128;

/** How many bytes of length follow a head, and how many bytes a fixed value has. */
const SIZES: Readonly<Record<number, number>> = {
  0xc0: 0, // nil
  0xc2: 0, // false
  0xc3: 0, // true
  0xca: 4, // float32
  0xcb: 8, // float64
  0xcc: 1, // uint8 …
  0xcd: 2,
  0xce: 4,
  0xcf: 8,
  0xd0: 1, // int8 …
  0xd1: 2,
  0xd2: 4,
  0xd3: 8,
};
const LENGTHS: Readonly<Record<number, readonly [bytes: number, kind: "bytes" | "array" | "map"]>> = {
  0xc4: [1, "bytes"],
  0xc5: [2, "bytes"],
  0xc6: [4, "bytes"],
  0xd9: [1, "bytes"],
  0xda: [2, "bytes"],
  0xdb: [4, "bytes"],
  0xdc: [2, "array"],
  0xdd: [4, "array"],
  0xde: [2, "map"],
  0xdf: [4, "map"],
};

/** What is wrong with the bytes; undefined when they hold exactly one value of bearable depth. Takes time in proportion to their number. */
export function msgpackFault(bytes: Uint8Array): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values still to come at each open level. */
  const open: number[] = [1];
  let at = 0;
  while (open.length > 0) {
    const level = open.length - 1;
    const left = open[level] ?? 0;
    if (left === 0) {
      open.pop();
      continue;
    }
    open[level] = left - 1;
    const head = bytes[at];
    if (head === undefined) return "ends early";
    at++;
    let children = 0;
    if (head >= 0x80 && head <= 0x8f) children = (head & 0x0f) * 2;
    else if (head >= 0x90 && head <= 0x9f) children = head & 0x0f;
    else if (head >= 0xa0 && head <= 0xbf) at += head & 0x1f;
    else if (head in LENGTHS) {
      const [width, kind] = LENGTHS[head] as (typeof LENGTHS)[number];
      if (at + width > bytes.length) return "ends early";
      const length = width === 1 ? view.getUint8(at) : width === 2 ? view.getUint16(at) : view.getUint32(at);
      at += width;
      if (kind === "bytes") at += length;
      else children = kind === "map" ? length * 2 : length;
    } else if (head in SIZES) at += SIZES[head] as number;
    else if (head > 0x7f && head < 0xe0) {
      return `has a value of type 0x${head.toString(16)} at byte ${at - 1}, which no configuration has`;
    }
    // Every value is a byte at least.
    if (at + children > bytes.length) return "ends early";
    if (children > 0 && open.push(children) > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH}`;
  }
  return at === bytes.length ? undefined : `has ${bytes.length - at} bytes too many`;
}
