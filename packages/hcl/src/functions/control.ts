import { convertValue } from "../convert.ts";
import { FunctionError, type HclFunction } from "../eval-types.ts";
import type { HclType } from "../types.ts";
import type { Value } from "../value.ts";
import { fixed, param, variadic } from "./define.ts";

export const controlFunctions = (): Readonly<Record<string, HclFunction>> => ({
  can: fixed([param("expression", "expression")], (_, c) => c.evaluate(c.expressions[0] as never).value !== undefined),
  convert: fixed([param("value", "dynamic", true), param("type", "type")], ([value], c) => {
    const converted = convertValue(value as Value, c.types[1] as HclType);
    if (!converted.ok)
      throw new FunctionError(`${converted.path === "" ? "" : `${converted.path}: `}${converted.message}`, 0);
    return converted.value;
  }),
  try: variadic([param("expressions", "expression")], param("expressions", "expression"), (_, c) => {
    let last = "";
    for (const e of c.expressions) {
      const { value, diagnostics } = c.evaluate(e);
      if (value !== undefined) return value;
      last = diagnostics[0]?.detail ?? last;
    }
    throw new FunctionError(`no expression has a value; the last one says: ${last.replace(/\.$/, "")}`);
  }),
});
