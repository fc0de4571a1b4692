import type { HclSpec } from "../contract/hclspec.ts";
import { decodeConfig, type DecodeConfigOptions } from "./decode-config.ts";
import { encodeValue } from "./encode-value.ts";

/**
 * Reads a job's or an agent's `config` block by a driver's schema and gives the msgpack bytes that go to the driver.
 * @throws {@link ConfigError} naming every field that does not fit
 * @public
 */
export function encodeConfig(spec: HclSpec, input: unknown, o: DecodeConfigOptions = {}): Uint8Array {
  return encodeValue(decodeConfig(spec, input, o));
}
