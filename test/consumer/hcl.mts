import {
  createStdlib,
  evaluate,
  FunctionError,
  HclNumber,
  parse,
  parseExpression,
  stdlib,
  valueToJs,
  type Diagnostic,
  type EvalContext,
  type Expression,
  type Value,
} from "@outrider/hcl";
import { equal, exact } from "./assert.mjs";

export function hclUser(): void {
  const { body, diagnostics } = parse('service "web" {\n  port = 8000 + 80 # the port\n}\n', { filename: "a.hcl" });
  exact<readonly Diagnostic[]>()(diagnostics);
  const [block] = body.blocks;
  equal(block?.labels[0]?.value, "web");
  const port = block?.body.attribute("port");
  equal(port?.range.start.line, 2);
  const double: EvalContext["functions"] = {
    double: { params: [{ name: "n", type: "number" }], call: ([n]) => Number(n) * 2 },
    fails: {
      params: [],
      call: () => {
        throw new FunctionError("never works");
      },
    },
  };
  const context: EvalContext = { functions: { ...stdlib, ...double }, variables: { list: ["a", "b"] } };
  const answer = (text: string): Value | undefined => {
    const { expression } = parseExpression(text);
    return expression && evaluate(expression, context).value;
  };
  equal(answer("double(21)"), 42);
  equal(answer('join("-", list)'), "a-b");
  equal(answer("fails()"), undefined);
  equal(answer("9007199254740993") instanceof HclNumber, true);
  equal(valueToJs(answer("9007199254740993") as Value), 9007199254740993n);
  equal(Object.keys(createStdlib({ randomBytes: (n) => new Uint8Array(n) })).length > 50, true);
  const kinds: Expression["kind"][] = ["literal", "template", "conditional", "for", "splat"];
  equal(kinds.length, 5);
  equal(parse("a = ").diagnostics[0]?.code, "missing-expression");
  // @ts-expect-error an expression has no such kind
  const wrong: Expression["kind"] = "loop";
  equal(wrong, "loop" as never);
}
