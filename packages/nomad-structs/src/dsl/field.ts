/** How a value looks on the wire. `ptr` is a pointer in Go: null means "not set". @public */
export type FieldKind =
  | "str"
  | "bool"
  | "int"
  | "float"
  | "duration"
  | "unixNano"
  | "time"
  | "bytes"
  | "any"
  | "ptr"
  | "list"
  | "map"
  | "struct";

/**
 * The description of one value: what decoding checks, what encoding writes, what the JSON Schema says. `T` is the
 * TypeScript type of the decoded value. Made by the builders of this file only.
 *
 * @public
 */
export interface Field<out T> {
  readonly kind: FieldKind;
  /** Width of an integer in bits. */
  readonly bits?: 8 | 16 | 32 | 64;
  readonly unsigned?: boolean;
  /** What a pointer, list or map holds. */
  readonly item?: Field<unknown>;
  readonly struct?: Struct<unknown>;
  /** Who has the field: both forms, or only the job as a user submits it. */
  readonly submittedOnly?: boolean;
  /** Left out of encoded output while zero, although its struct writes zero fields. */
  readonly omitZero?: boolean;
  /** Carries the type; never present at run time. */
  readonly "~type"?: T;
}

/** A field that only the submitted form of a job has; see {@link submitted}. @public */
export interface SubmittedField<out T> extends Field<T> {
  readonly submittedOnly: true;
}

/** The fields of a struct by their exact wire name. @public */
export type FieldMap = Readonly<Record<string, Field<unknown>>>;

/** The description of an object with known fields, in wire order. `T` is its decoded type. @public */
export interface Struct<out T> {
  readonly name: string;
  readonly fields: FieldMap;
  /** The fields as a list, so that walks do not rebuild it. */
  readonly entries: readonly (readonly [string, Field<unknown>])[];
  /** Zero fields are left out of encoded output (Nomad does so for allocations, evaluations, networks and ports). */
  readonly omitZero: boolean;
  readonly "~type"?: T;
}

/** The type a field decodes to. @public */
export type TypeOf<F> = F extends Field<infer T> ? T : never;

/** The object type of a map of fields: what {@link decode} returns. @public */
export type Infer<M extends FieldMap> = {
  [K in keyof M as M[K] extends SubmittedField<unknown> ? never : K]: TypeOf<M[K]>;
} & {
  [K in keyof M as M[K] extends SubmittedField<unknown> ? K : never]?: TypeOf<M[K]> | null;
};

/**
 * The submitted form of a type: every field may be absent, null or set, at every depth. This is what users write in
 * job files; the server fills in the rest.
 *
 * @public
 */
export type Input<T> = unknown extends T
  ? T
  : T extends (infer U)[]
    ? Input<U>[]
    : T extends object
      ? { [K in keyof T]?: Input<T[K]> | null | undefined }
      : T;

/** Text; zero is "". @public */
export const str = (): Field<string> => ({ kind: "str" });
/** True or false; zero is false. @public */
export const bool = (): Field<boolean> => ({ kind: "bool" });
/** A whole number of Go's signed type of that width, at most 2^53 − 1 in size; zero is 0. @public */
export const int = (bits: 8 | 16 | 32 | 64 = 64): Field<number> => ({ kind: "int", bits });
/** A whole number of Go's unsigned type of that width, at most 2^53 − 1; zero is 0. @public */
export const uint = (bits: 8 | 16 | 32 | 64 = 64): Field<number> => ({ kind: "int", bits, unsigned: true });
/** A finite number; zero is 0. @public */
export const float = (): Field<number> => ({ kind: "float" });
/**
 * A span of time in whole nanoseconds of a 64-bit integer; beyond 104 days (2^53) a double keeps every whole second.
 * Zero is 0.
 *
 * @public
 */
export const duration = (): Field<number> => ({ kind: "duration", bits: 64 });
/**
 * A point in time in nanoseconds since 1970. Present values are above 2^53: a double keeps them to 256 ns, which is
 * what this field promises. Zero is 0.
 *
 * @public
 */
export const unixNano = (): Field<number> => ({ kind: "unixNano", bits: 64 });
/** A point in time as RFC 3339 text with up to nine digits of the second; null is Go's zero time, "not set". @public */
export const time = (): Field<string | null> => ({ kind: "time" });
/** Bytes: base64 text in JSON and in memory, raw in msgpack; null when not set. @public */
export const bytes = (): Field<string | null> => ({ kind: "bytes" });
/** Any JSON value (driver configs, policies); bounded in depth and size by the codec. @public */
export const any = (): Field<unknown> => ({ kind: "any" });
/** A value that may be null, "not set", which is its zero. @public */
export const ptr = <T>(item: Field<T>): Field<T | null> => ({ kind: "ptr", item });
/** A list; null is a nil slice in Go and its zero. @public */
export const list = <T>(item: Field<T>): Field<T[] | null> => ({ kind: "list", item });
/** Text keys to values; null is a nil map in Go and its zero. @public */
export const map = <T>(item: Field<T>): Field<Record<string, T> | null> => ({ kind: "map", item });
/** An object that is always there; its zero has all fields zero. @public */
export const object = <T>(of: Struct<T>): Field<T> => ({ kind: "struct", struct: of });
/** An object or null, which is its zero. @public */
export const ref = <T>(of: Struct<T>): Field<T | null> => ptr(object(of));
/** A list of objects. @public */
export const refs = <T>(of: Struct<T>): Field<T[] | null> => list(object(of));
/** Marks a field that only submitted jobs have: no zero is filled in for it. @public */
export const submitted = <T>(field: Field<T>): SubmittedField<T> => ({ ...field, submittedOnly: true });
/** Marks a field that is left out while zero. @public */
export const omitted = <T>(field: Field<T>): Field<T> => ({ ...field, omitZero: true });

/** Describes an object. `omitZero` is Nomad's "omit empty" for all of its fields. @public */
export function struct<T>(name: string, fields: FieldMap, o: { readonly omitZero?: boolean } = {}): Struct<T> {
  return { name, fields, entries: Object.entries(fields), omitZero: o.omitZero ?? false };
}
