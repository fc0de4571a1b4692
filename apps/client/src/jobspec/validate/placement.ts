import type { Affinity, Constraint, Spread } from "@outrider/nomad-structs";
import type { Report } from "./report.ts";

const COMPARISONS = ["=", "==", "is", "!=", "not", ">", ">=", "<", "<="];
const SETS = ["set_contains", "set_contains_all", "set_contains_any", "not_set_contains"];
const PATTERNS = ["version", "semver", "regexp"];
const PRESENCE = ["is_set", "is_not_set"];
const DISTINCT = ["distinct_hosts", "distinct_property"];
const AFFINITY_OPERATORS = [...COMPARISONS, ...SETS, ...PATTERNS, ...PRESENCE];
const CONSTRAINT_OPERATORS = [...AFFINITY_OPERATORS, ...DISTINCT];

function checkTargets(c: Constraint | Affinity, r: Report): void {
  const op = c.Operand;
  if (op !== "distinct_hosts" && c.LTarget === "") {
    r.error("constraint-attribute", "LTarget", c.LTarget, `needs an attribute for the operator ${JSON.stringify(op)}`);
  }
  const needsValue = !PRESENCE.includes(op) && !DISTINCT.includes(op);
  if (needsValue && c.RTarget === "") {
    r.error("constraint-value", "RTarget", c.RTarget, `needs a value for the operator ${JSON.stringify(op)}`);
  }
}

/** Constraints of a job, group or task. */
export function checkConstraints(list: readonly Constraint[] | null, r: Report): void {
  for (const [i, c] of (list ?? []).entries()) {
    const at = r.at(`Constraints[${i}]`, `constraint ${i + 1}`);
    if (!CONSTRAINT_OPERATORS.includes(c.Operand)) {
      at.error("constraint-operator", "Operand", c.Operand, `has the unknown operator ${JSON.stringify(c.Operand)}`);
    } else checkTargets(c, at);
    if (c.Operand === "distinct_property" && c.RTarget !== "" && !/^[1-9]\d{0,8}$/.test(c.RTarget)) {
      at.error("constraint-count", "RTarget", c.RTarget, "needs a number of at least 1 for distinct_property");
    }
    if (c.Operand === "distinct_hosts" && !["", "true", "false"].includes(c.RTarget)) {
      at.error("constraint-bool", "RTarget", c.RTarget, "needs true or false for distinct_hosts");
    }
  }
}

/** Affinities of a job, group or task. */
export function checkAffinities(list: readonly Affinity[] | null, r: Report): void {
  for (const [i, a] of (list ?? []).entries()) {
    const at = r.at(`Affinities[${i}]`, `affinity ${i + 1}`);
    if (!AFFINITY_OPERATORS.includes(a.Operand)) {
      at.error("affinity-operator", "Operand", a.Operand, `has the unknown operator ${JSON.stringify(a.Operand)}`);
    } else checkTargets(a, at);
    if (a.Weight === 0 || a.Weight < -100 || a.Weight > 100) {
      at.error("affinity-weight", "Weight", a.Weight, `weight must be between -100 and 100 and not 0, got ${a.Weight}`);
    }
  }
}

/** Spreads of a job or group. */
export function checkSpreads(list: readonly Spread[] | null, r: Report): void {
  const attributes = new Set<string>();
  for (const [i, s] of (list ?? []).entries()) {
    const at = r.at(`Spreads[${i}]`, `spread ${i + 1}`);
    if (s.Attribute === "") at.error("spread-attribute", "Attribute", "", "needs an attribute");
    if (attributes.has(s.Attribute)) {
      at.error("spread-duplicate", "Attribute", s.Attribute, "has the attribute of an earlier spread");
    }
    attributes.add(s.Attribute);
    if (s.Weight < 1 || s.Weight > 100) {
      at.error("spread-weight", "Weight", s.Weight, `weight must be between 1 and 100, got ${s.Weight}`);
    }
    const sum = (s.SpreadTarget ?? []).reduce((total, target) => total + target.Percent, 0);
    if (sum > 100) at.error("spread-percent", "SpreadTarget", sum, `the percentages add up to ${sum}, more than 100`);
    const values = (s.SpreadTarget ?? []).map((target) => target.Value);
    if (new Set(values).size !== values.length) {
      at.error("spread-target-duplicate", "SpreadTarget", values.join(","), "has a target twice");
    }
  }
}
