import { FunctionError, type HclFunction } from "../eval-types.ts";
import { STRING } from "../types.ts";
import type { Value } from "../value.ts";
import { decodeCsv } from "./csv.ts";
import { fixed, param } from "./define.ts";
import { nodeCrypto } from "./node-crypto.ts";
import { decodeJson, encodeJson } from "./json.ts";
import { decodeYaml } from "./yaml-decode.ts";
import { encodeYaml } from "./yaml-encode.ts";

const of = (f: (text: string) => Value): HclFunction => fixed([param("str", STRING)], ([s]) => f(s as string));

const hash = (algorithm: string): HclFunction =>
  of((s) => nodeCrypto().createHash(algorithm).update(s, "utf8").digest("hex"));

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const base64decode = (text: string): string => {
  const plain = text.replace(/[\r\n]/g, "");
  if (!BASE64.test(plain)) throw new FunctionError("it is not base64", 0);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(plain, "base64"));
  } catch {
    throw new FunctionError("the decoded bytes are not UTF-8", 0);
  }
};

const urlencode = (text: string): string =>
  encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd"))
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");

export const encodingFunctions = (): Readonly<Record<string, HclFunction>> => ({
  base64decode: of(base64decode),
  base64encode: of((s) => Buffer.from(s, "utf8").toString("base64")),
  csvdecode: of(decodeCsv),
  jsondecode: of(decodeJson),
  jsonencode: fixed([param("val", "dynamic", true)], ([v]) => encodeJson(v as Value)),
  md5: hash("md5"),
  sha1: hash("sha1"),
  sha256: hash("sha256"),
  sha512: hash("sha512"),
  urlencode: of(urlencode),
  yamldecode: of(decodeYaml),
  yamlencode: fixed([param("value", "dynamic", true)], ([v]) => encodeYaml(v as Value)),
});
