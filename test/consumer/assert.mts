// What the programs of this folder check with; no test runner is near them.
/** Throws unless both are the same. */
export function equal<T>(got: T, want: T): void {
  if (!Object.is(got, want)) throw new Error(`got ${String(got)}, want ${String(want)}`);
}

/** `exact<T>()(value)` compiles only if the type of the value is T, not merely assignable to it. */
export const exact =
  <T,>() =>
  <U,>(value: U & ([T] extends [U] ? ([U] extends [T] ? U : never) : never)): U =>
    value;

/** What the promise rejected with. */
export async function rejects(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not reject");
}

/** The `code` of what the function threw. */
export function codeOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  throw new Error("it did not throw");
}
