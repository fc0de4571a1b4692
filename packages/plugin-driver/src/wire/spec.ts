/** Schemas between the contract and protobuf messages. */
import { create } from "@bufbuild/protobuf";
import type { HclSpec } from "../contract/hclspec.ts";
import { PluginProtocolError } from "../contract/errors.ts";
import { type Spec, SpecSchema } from "../gen/hclspec_pb.js";
import { toUnsigned } from "./scalars.ts";

/** Deeper schemas than this are refused. */
const MAX_DEPTH = 64;

export function toSpec(spec: HclSpec): Spec {
  return create(SpecSchema, { block: toBlock(spec) });
}

function toBlock(spec: HclSpec): Exclude<Spec["block"], { case: undefined }> {
  // Nested messages are built by create(); the casts only drop the type names that create() would add itself.
  switch (spec.kind) {
    case "object": {
      const attributes: Record<string, Spec> = {};
      for (const [key, value] of Object.entries(spec.attributes)) attributes[key] = toSpec(value);
      return message({ case: "object", value: { attributes } });
    }
    case "array":
      return message({ case: "array", value: { values: spec.values.map(toSpec) } });
    case "attr":
      return message({ case: "Attr", value: { name: spec.name, type: spec.type, required: spec.required } });
    case "block":
      return message({
        case: "blockValue",
        value: { name: spec.name, required: spec.required, nested: toSpec(spec.nested) },
      });
    case "blockAttrs":
      return message({ case: "blockAttrs", value: { name: spec.name, type: spec.type, required: spec.required } });
    case "blockList":
    case "blockSet":
      return message({
        case: spec.kind,
        value: {
          name: spec.name,
          minItems: toUnsigned(spec.minItems),
          maxItems: toUnsigned(spec.maxItems),
          nested: toSpec(spec.nested),
        },
      });
    case "blockMap":
      return message({
        case: "blockMap",
        value: { name: spec.name, labels: [...spec.labels], nested: toSpec(spec.nested) },
      });
    case "default":
      return message({ case: "default", value: { primary: toSpec(spec.primary), default: toSpec(spec.default) } });
    case "literal":
      return message({ case: "literal", value: { value: spec.value } });
  }
}

type Block = Exclude<Spec["block"], { case: undefined }>;

function message(init: { readonly case: Block["case"]; readonly value: object }): Block {
  return create(SpecSchema, { block: init as never }).block as Block;
}

/** @throws {@link PluginProtocolError} naming the place of a node that is no schema */
export function fromSpec(spec: Spec | undefined, path = "schema", depth = 0): HclSpec {
  const fail = (what: string): never => {
    throw new PluginProtocolError(`config schema: ${path}: ${what}`, { details: { path } });
  };
  if (depth > MAX_DEPTH) return fail(`nested deeper than ${MAX_DEPTH}`);
  const block = spec?.block;
  const inner = (nested: Spec | undefined, name: string): HclSpec => fromSpec(nested, `${path}.${name}`, depth + 1);
  switch (block?.case) {
    case undefined:
      return fail("empty");
    case "object":
      return {
        kind: "object",
        attributes: Object.fromEntries(
          Object.entries(block.value.attributes).map(([key, value]) => [key, inner(value, key)]),
        ),
      };
    case "array":
      return { kind: "array", values: block.value.values.map((value, i) => inner(value, String(i))) };
    case "Attr":
      return { kind: "attr", name: block.value.name, type: block.value.type, required: block.value.required };
    case "blockValue":
      return {
        kind: "block",
        name: block.value.name,
        required: block.value.required,
        nested: inner(block.value.nested, "nested"),
      };
    case "blockAttrs":
      return { kind: "blockAttrs", name: block.value.name, type: block.value.type, required: block.value.required };
    case "blockList":
    case "blockSet":
      return {
        kind: block.case,
        name: block.value.name,
        minItems: Number(block.value.minItems),
        maxItems: Number(block.value.maxItems),
        nested: inner(block.value.nested, "nested"),
      };
    case "blockMap":
      return {
        kind: "blockMap",
        name: block.value.name,
        labels: block.value.labels,
        nested: inner(block.value.nested, "nested"),
      };
    case "default":
      return {
        kind: "default",
        primary: inner(block.value.primary, "primary"),
        default: inner(block.value.default, "default"),
      };
    case "literal":
      return { kind: "literal", value: block.value.value };
  }
}
