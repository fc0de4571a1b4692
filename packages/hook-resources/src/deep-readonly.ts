type Fixed = string | number | bigint | boolean | null | undefined | Date | ArrayBuffer | ArrayBufferView;

/** A type with every part read-only, maps and sets included: what the store gives out. @public */
export type DeepReadonly<T> = T extends Fixed
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<DeepReadonly<K>, DeepReadonly<V>>
    : T extends ReadonlySet<infer V>
      ? ReadonlySet<DeepReadonly<V>>
      : { readonly [P in keyof T]: DeepReadonly<T[P]> };
