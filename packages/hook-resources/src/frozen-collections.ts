// `Object.freeze` leaves the entries of a Map or Set open: the methods that change them are shadowed by throwing ones. Own properties and
// not a subclass, so that deep comparisons (node:assert, test runners) see an ordinary Map or Set.
const refuse = (what: string): PropertyDescriptor => ({
  value: () => {
    throw new TypeError(`cannot change a frozen ${what} of hook resources`);
  },
});
const closedMap = { set: refuse("map"), delete: refuse("map"), clear: refuse("map") };
const closedSet = { add: refuse("set"), delete: refuse("set"), clear: refuse("set") };

/** Closes a filled map. @internal */
export function closeMap<K, V>(map: Map<K, V>): Map<K, V> {
  return Object.freeze(Object.defineProperties(map, closedMap));
}

/** Closes a filled set. @internal */
export function closeSet<T>(set: Set<T>): Set<T> {
  return Object.freeze(Object.defineProperties(set, closedSet));
}
