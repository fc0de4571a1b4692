/** Schema of a configuration block, as it travels between driver and client (Nomad's hclspec). */

/**
 * One node of a schema. `type` is a type expression such as `string` or `list(map(string))`; an empty `name` takes the key of the
 * object that holds the node.
 * @public
 */
export type HclSpec =
  | { readonly kind: "object"; readonly attributes: Readonly<Record<string, HclSpec>> }
  | { readonly kind: "array"; readonly values: readonly HclSpec[] }
  | { readonly kind: "attr"; readonly name: string; readonly type: string; readonly required: boolean }
  | { readonly kind: "block"; readonly name: string; readonly required: boolean; readonly nested: HclSpec }
  | { readonly kind: "blockAttrs"; readonly name: string; readonly type: string; readonly required: boolean }
  | {
      readonly kind: "blockList" | "blockSet";
      readonly name: string;
      /** 0 = none needed. */
      readonly minItems: number;
      /** 0 = no limit. */
      readonly maxItems: number;
      readonly nested: HclSpec;
    }
  | { readonly kind: "blockMap"; readonly name: string; readonly labels: readonly string[]; readonly nested: HclSpec }
  | { readonly kind: "default"; readonly primary: HclSpec; readonly default: HclSpec }
  | { readonly kind: "literal"; readonly value: string };
