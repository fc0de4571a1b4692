/**
 * A read-only record that is made when something is first asked of it. Most programs that parse a file never call a
 * function, and the table is most of what there is to compile and keep.
 */
export const lazyRecord = <V>(make: () => Record<string, V>): Readonly<Record<string, V>> => {
  let made: Record<string, V> | undefined;
  const table = (): Record<string, V> => (made ??= make());
  return new Proxy<Record<string, V>>(Object.create(null) as Record<string, V>, {
    get: (_, name) => (typeof name === "string" && Object.hasOwn(table(), name) ? table()[name] : undefined),
    has: (_, name) => Object.hasOwn(table(), name),
    ownKeys: () => Reflect.ownKeys(table()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(table(), name),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
};
