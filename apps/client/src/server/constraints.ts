import { createContext, Script } from "node:vm";
import type { Constraint, Node } from "@outrider/nomad-structs";
import { meetsVersion } from "./version-constraint.ts";

/** Operators that are decided by counting allocations, not by the node alone. */
export const COUNTING_OPERANDS: ReadonlySet<string> = new Set(["distinct_hosts", "distinct_property"]);

/** How a constraint is named in placement metrics: `${attr.kernel.name} = windows`. */
export function constraintText(constraint: Constraint): string {
  return `${constraint.LTarget} ${constraint.Operand} ${constraint.RTarget}`.trim();
}

/** Value of a target like `${attr.kernel.name}` on a node; any other text stands for itself. */
export function resolveTarget(target: string, node: Node): string | undefined {
  const inner = /^\$\{(.+)\}$/.exec(target)?.[1];
  if (inner === undefined) return target;
  switch (inner) {
    case "node.unique.id":
      return node.ID;
    case "node.unique.name":
      return node.Name;
    case "node.datacenter":
      return node.Datacenter;
    case "node.class":
      return node.NodeClass;
    case "node.pool":
      return node.NodePool;
    default:
  }
  const values = inner.startsWith("attr.") ? node.Attributes : inner.startsWith("meta.") ? node.Meta : undefined;
  const key = inner.slice(5);
  return values !== undefined && values !== null && Object.hasOwn(values, key) ? values[key] : undefined;
}

/** Whether a node meets a constraint. Operators that count allocations are met here. */
export function meetsConstraint(constraint: Constraint, node: Node): boolean {
  const left = resolveTarget(constraint.LTarget, node);
  const right = resolveTarget(constraint.RTarget, node);
  const operand = constraint.Operand;
  if (COUNTING_OPERANDS.has(operand)) return true;
  if (operand === "is_set" || operand === "attribute_is_set") return left !== undefined;
  if (operand === "is_not_set" || operand === "attribute_is_not_set") return left === undefined;
  if (operand === "!=" || operand === "not") return left !== right;
  if (left === undefined || right === undefined) return false;
  return compareBoth(operand, left, right);
}

function compareBoth(operand: string, left: string, right: string): boolean {
  switch (operand) {
    case "":
    case "=":
    case "==":
    case "is":
      return left === right;
    case "<":
    case "<=":
    case ">":
    case ">=":
      return ordered(operand, left, right);
    case "regexp":
      return matches(left, right);
    case "version":
    case "semver":
      return meetsVersion(left, right, operand) ?? false;
    case "set_contains":
    case "set_contains_all":
      return items(right).every((item) => items(left).includes(item));
    case "set_contains_any":
      return items(right).some((item) => items(left).includes(item));
    default:
      return false;
  }
}

function ordered(operand: "<" | "<=" | ">" | ">=", left: string, right: string): boolean {
  const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/;
  const order =
    number.test(left) && number.test(right)
      ? Math.sign(Number(left) - Number(right))
      : left < right
        ? -1
        : left > right
          ? 1
          : 0;
  if (operand === "<") return order < 0;
  if (operand === "<=") return order <= 0;
  return operand === ">" ? order > 0 : order >= 0;
}

const regexpSandbox = createContext({ pattern: "", text: "" });
const regexpScript = new Script('new RegExp(pattern, "u").test(text)');

/** A pattern comes from a user: it may run for 50 ms, whatever it would like to try. */
function matches(text: string, pattern: string): boolean {
  try {
    Object.assign(regexpSandbox, { pattern, text });
    return regexpScript.runInContext(regexpSandbox, { timeout: 50 }) === true;
  } catch {
    return false;
  }
}

function items(text: string): string[] {
  return text.split(",").map((item) => item.trim());
}

/** Whether one of a job's datacenters, which may hold `*`, names the node's. */
export function inDatacenter(patterns: readonly string[] | null, datacenter: string): boolean {
  return (patterns ?? []).some((pattern) => {
    const escaped = pattern.replace(/[.*+?^${}()|[\]\\]/g, (c) => (c === "*" ? ".*" : c === "?" ? "." : `\\${c}`));
    return new RegExp(`^${escaped}$`).test(datacenter);
  });
}
