import { FunctionError, type HclFunction } from "../eval-types.ts";
import { STRING } from "../types.ts";
import { fixed, param } from "./define.ts";
import { nodeCrypto } from "./node-crypto.ts";

/** The well-known namespaces differ in one digit. */
const NAMESPACES: Record<string, string> = { dns: "0", url: "1", oid: "2", x500: "4" };

const text = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

const marked = (bytes: Uint8Array, version: number): Uint8Array => {
  bytes[6] = ((bytes[6] as number) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes;
};

const version5 = (namespace: string, name: string): string => {
  const digit = Object.hasOwn(NAMESPACES, namespace) ? NAMESPACES[namespace] : undefined;
  const uuid = digit === undefined ? namespace : `6ba7b81${digit}-9dad-11d1-80b4-00c04fd430c8`;
  if (!/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(uuid))
    throw new FunctionError("the namespace is dns, url, oid, x500 or a UUID", 0);
  const hash = nodeCrypto()
    .createHash("sha1")
    .update(Buffer.from(uuid.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest();
  return text(marked(new Uint8Array(hash.subarray(0, 16)), 5));
};

/** `uuidv4` out of given randomness, and `uuidv5`. */
export const uuidFunctions = (randomBytes: (count: number) => Uint8Array): Readonly<Record<string, HclFunction>> => ({
  uuidv4: fixed([], () => text(marked(randomBytes(16), 4))),
  uuidv5: fixed([param("namespace", STRING), param("name", STRING)], ([namespace, name]) =>
    version5(namespace as string, name as string),
  ),
});
