import type { HclSpec } from "@outrider/plugin-driver";

/** Evaluates a `config` block with these variables and gives the msgpack that its driver expects. */
export type EncodeConfig = (
  schema: HclSpec,
  config: Readonly<Record<string, unknown>>,
  variables: Readonly<Record<string, unknown>>,
) => Uint8Array;

/** As {@link EncodeConfig}; the variables, which are many, are asked for by a block that may use one. */
export type DriverConfigEncoder = (
  schema: HclSpec,
  config: Readonly<Record<string, unknown>>,
  variables: () => Readonly<Record<string, unknown>>,
) => Uint8Array;

const TEMPLATE = /[$%]\{/;
/** Most blocks that are kept for one schema. */
const MAX_KEPT = 256;

/** Keeps what blocks without variables came to: the allocations of a job have the same ones. */
export function createConfigEncoder(encode: EncodeConfig): DriverConfigEncoder {
  const kept = new WeakMap<HclSpec, Map<string, Uint8Array>>();
  return (schema, config, variables) => {
    const text = JSON.stringify(config);
    if (TEMPLATE.test(text)) return encode(schema, config, variables());
    let blocks = kept.get(schema);
    if (blocks === undefined) kept.set(schema, (blocks = new Map()));
    let encoded = blocks.get(text);
    if (encoded === undefined) {
      encoded = encode(schema, config, {});
      if (blocks.size >= MAX_KEPT) blocks.clear();
      blocks.set(text, encoded);
    }
    return encoded;
  };
}
