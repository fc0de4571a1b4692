import { FunctionError, type HclFunction } from "../eval-types.ts";
import { STRING } from "../types.ts";
import { cidrFunctions } from "./cidr.ts";
import { collectionFunctions } from "./collection.ts";
import { controlFunctions } from "./control.ts";
import { datetimeFunctions } from "./datetime.ts";
import { fixed, param, variadic } from "./define.ts";
import { encodingFunctions } from "./encoding.ts";
import { numericFunctions } from "./numeric.ts";
import { lazyRecord } from "./lazy.ts";
import { everyMatch, firstMatch } from "./pattern.ts";
import { moreSetFunctions, setFunctions } from "./set.ts";
import { textFunctions } from "./text.ts";
import { uuidFunctions } from "./uuid.ts";

/**
 * Options of {@link createStdlib}.
 * @public
 */
export interface StdlibOptions {
  /** Randomness of `uuidv4`. Default: the platform's secure generator. */
  readonly randomBytes?: (count: number) => Uint8Array;
}

const refused = (name: string, why: string): HclFunction =>
  variadic([], param("args", "dynamic", true), () => {
    throw new FunctionError(`${name} is not offered: ${why}`);
  });

/**
 * The functions of job files, apart from those that read files (`file`, `fileset`, `abspath`, …): whoever evaluates decides
 * what may be read, and adds them. `bcrypt` and `rsadecrypt` are there only to say that they are not offered.
 * @public
 */
export const createStdlib = (o: StdlibOptions = {}): Readonly<Record<string, HclFunction>> => ({
  ...cidrFunctions(),
  ...collectionFunctions(),
  ...controlFunctions(),
  ...datetimeFunctions(),
  ...encodingFunctions(),
  ...numericFunctions(),
  ...setFunctions(),
  ...textFunctions(),
  ...uuidFunctions(o.randomBytes ?? ((count) => globalThis.crypto.getRandomValues(new Uint8Array(count)))),
  bcrypt: refused("bcrypt", "its result differs at every call, so a file would never be the same twice"),
  rsadecrypt: refused("rsadecrypt", "a private key does not belong in a file"),
});

/**
 * {@link createStdlib} with its defaults.
 * @public
 */
export const stdlib: Readonly<Record<string, HclFunction>> = lazyRecord(() => createStdlib());

/**
 * Functions of the language's family that job files do not have: `regex`, `regexall`, `startswith`, `endswith`,
 * `sethaselement`, `setsubtract`, `setsymmetricdifference`.
 * @public
 */
export const extraFunctions: Readonly<Record<string, HclFunction>> = lazyRecord(() => makeExtra());

const makeExtra = (): Record<string, HclFunction> => {
  const pattern = param("pattern", STRING);
  const text = param("string", STRING);
  return {
    ...moreSetFunctions(),
    endswith: fixed([text, param("suffix", STRING)], ([s, x]) => (s as string).endsWith(x as string)),
    regex: fixed([pattern, text], ([p, s], c) => {
      const found = firstMatch(p as string, s as string, c);
      if (found === undefined) throw new FunctionError("the pattern does not match", 1);
      return found;
    }),
    regexall: fixed([pattern, text], ([p, s], c) => everyMatch(p as string, s as string, c)),
    startswith: fixed([text, param("prefix", STRING)], ([s, x]) => (s as string).startsWith(x as string)),
  };
};
