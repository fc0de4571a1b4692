// `Object.freeze` leaves the entries of a Map or Set open: the methods that change them are shadowed by throwing ones. Own properties and
// not a subclass, so that deep comparisons (node:assert, test runners) see an ordinary Map or Set.
const refuse = {
  value: () => {
    throw new TypeError("cannot change a frozen map or set of hook resources");
  },
};
const closed = { set: refuse, add: refuse, delete: refuse, clear: refuse };

/** Closes a filled map or set. @internal */
export function close<T extends object>(collection: T): T {
  return Object.freeze(Object.defineProperties(collection, closed));
}
