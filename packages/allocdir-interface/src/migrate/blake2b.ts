/** BLAKE2b with a key (RFC 7693): `node:crypto` has it without one only. For short messages: it is not fast. */

const IV: readonly bigint[] = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
];

const SIGMA: readonly (readonly number[])[] = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/** Columns and diagonals that one round mixes. */
const MIXES: readonly (readonly [number, number, number, number])[] = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
];

const ROUNDS = 12;
const BLOCK_BYTES = 128;
const MASK = (1n << 64n) - 1n;

const rotate = (x: bigint, by: bigint): bigint => (x >> by) | ((x << (64n - by)) & MASK);

/** The 64 bytes of the digest. A key is at most 64 bytes; an empty one means none. Throws RangeError for longer keys. */
export function blake2b512(message: Uint8Array, key: Uint8Array = new Uint8Array(0)): Buffer {
  if (key.length > 64) throw new RangeError(`a key of ${key.length} bytes is longer than 64`);
  const head = Buffer.alloc(key.length > 0 ? BLOCK_BYTES : 0);
  head.set(key);
  const input = Buffer.concat([head, message]);
  const state = [...IV];
  state[0] = (state[0] as bigint) ^ 0x01010000n ^ (BigInt(key.length) << 8n) ^ 64n;
  const blocks = Math.max(1, Math.ceil(input.length / BLOCK_BYTES));
  for (let i = 0; i < blocks; i++) {
    const block = Buffer.alloc(BLOCK_BYTES);
    input.copy(block, 0, i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES);
    const last = i === blocks - 1;
    compress(state, block, BigInt(last ? input.length : (i + 1) * BLOCK_BYTES), last);
  }
  const out = Buffer.alloc(64);
  state.forEach((word, i) => out.writeBigUInt64LE(word, i * 8));
  return out;
}

function compress(state: bigint[], block: Buffer, counter: bigint, last: boolean): void {
  const words = Array.from({ length: 16 }, (_, i) => block.readBigUInt64LE(i * 8));
  const v = [...state, ...IV];
  v[12] = (v[12] as bigint) ^ counter;
  if (last) v[14] = (v[14] as bigint) ^ MASK;
  for (let round = 0; round < ROUNDS; round++) {
    const order = SIGMA[round % SIGMA.length] as readonly number[];
    MIXES.forEach((at, i) =>
      mix(v, at, words[order[2 * i] as number] as bigint, words[order[2 * i + 1] as number] as bigint),
    );
  }
  for (let i = 0; i < 8; i++) state[i] = (state[i] as bigint) ^ (v[i] as bigint) ^ (v[i + 8] as bigint);
}

function mix(v: bigint[], [a, b, c, d]: readonly [number, number, number, number], x: bigint, y: bigint): void {
  const add = (i: number, ...terms: readonly bigint[]): void => {
    v[i] = terms.reduce((sum, term) => sum + term, v[i] as bigint) & MASK;
  };
  const turn = (i: number, with_: number, by: bigint): void => {
    v[i] = rotate((v[i] as bigint) ^ (v[with_] as bigint), by);
  };
  add(a, v[b] as bigint, x);
  turn(d, a, 32n);
  add(c, v[d] as bigint);
  turn(b, c, 24n);
  add(a, v[b] as bigint, y);
  turn(d, a, 16n);
  add(c, v[d] as bigint);
  turn(b, c, 63n);
}
