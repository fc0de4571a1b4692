import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoff, createBackoff, type Jitter } from "@outrider/backoff";

const duration = fc.double({ min: 0, max: 1e15, noNaN: true });
const attempt = fc.oneof(fc.nat(70), fc.nat(3000), fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));

/** min(limit, base·2^n) by exact arithmetic on a base that is a whole number. */
function exact(base: number, limit: number, n: bigint): number {
  if (base === 0 || limit === 0) return 0;
  if (n > 2000n) return limit;
  const product = BigInt(base) << n;
  return product >= BigInt(Math.ceil(limit)) ? limit : Number(product);
}

describe("backoff over all attempts", () => {
  it("equals exact arithmetic for whole numbers", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), attempt, (base, limit, n) => {
        expect(backoff(base, limit, n)).toBe(exact(base, limit, BigInt(n)));
      }),
      { numRuns: 2000 },
    );
  });

  it("stays within [0, limit], is positive for positive arguments, and never shrinks", () => {
    fc.assert(
      fc.property(
        duration,
        duration,
        fc.maxSafeNat(),
        fc.double({ min: 1, max: 1e6, noNaN: true }),
        (base, limit, n, factor) => {
          const a = backoff(base, limit, n, { factor });
          const b = backoff(base, limit, BigInt(n) + 1n, { factor });
          expect(a >= 0 && a <= limit && b >= a && b <= limit).toBe(true);
          expect(a > 0).toBe(base > 0 && limit > 0);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("equals base·factor^attempt within 1e-12 below the limit", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 1e4, noNaN: true }),
        fc.double({ min: 1, max: 10, noNaN: true }),
        fc.nat(60),
        (base, factor, n) => {
          const want = base * factor ** n;
          const got = backoff(base, 1e80, n, { factor });
          expect(Math.abs(got - want) / want).toBeLessThan(1e-12);
        },
      ),
    );
  });
});

describe("createBackoff over all options", () => {
  it("gives finite delays within its bounds, far past 1024 steps (connor4312/cockatiel#86)", () => {
    fc.assert(
      fc.property(
        // Everyday numbers as well: of two wild doubles one is mostly out of the other's reach.
        fc.oneof(fc.nat(2000), fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true })),
        fc.oneof(fc.nat(100_000), fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true })),
        fc.constantFrom<Jitter>("none", "full", "equal", "decorrelated", "nomad"),
        // Evenly spread, as real draws are: most doubles between 0 and 1 are next to 0.
        fc.array(
          fc.nat(2 ** 20 - 1).map((n) => n / 2 ** 20),
          { minLength: 1, maxLength: 5 },
        ),
        (base, limit, jitter, draws) => {
          let i = 0;
          const waits = createBackoff({ base, limit, jitter, random: () => draws[i++ % draws.length] as number });
          for (let n = 0; n < 1200; n++) {
            const peeked = waits.peek();
            const delay = waits.next();
            if (delay !== peeked) throw new Error("peek differs");
            const most = jitter === "nomad" ? Math.min(limit + base, Number.MAX_VALUE) : limit;
            if (!(delay >= 0 && delay <= most)) throw new Error(`attempt ${n}: ${delay} of ${limit}`);
            if (jitter === "decorrelated" && delay < Math.min(base, limit))
              throw new Error(`attempt ${n}: ${delay} below base ${base}`);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
