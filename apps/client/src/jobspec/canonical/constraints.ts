import type { Constraint, TaskGroup } from "@outrider/nomad-structs";

function add(constraints: Constraint[], wanted: Constraint): void {
  const known = constraints.some(
    (c) => c.LTarget === wanted.LTarget && c.RTarget === wanted.RTarget && c.Operand === wanted.Operand,
  );
  if (!known) constraints.push(wanted);
}

/** Signals that the tasks of a group are sent, sorted. */
function signals(group: TaskGroup): string[] {
  const names = new Set<string>();
  for (const task of group.Tasks ?? []) {
    if (task.KillSignal !== "") names.add(task.KillSignal);
    for (const template of task.Templates ?? []) if (template.ChangeMode === "signal") names.add(template.ChangeSignal);
  }
  names.delete("");
  return [...names].sort();
}

/** What a group asks of its node without saying so: signals, native services, windows. */
export function implicitConstraints(group: TaskGroup): Constraint[] | null {
  const constraints = [...(group.Constraints ?? [])];
  const services = [...(group.Services ?? []), ...(group.Tasks ?? []).flatMap((task) => task.Services ?? [])];
  if (services.some((service) => service.Provider === "nomad")) {
    add(constraints, { LTarget: "${attr.nomad.service_discovery}", RTarget: "true", Operand: "=" });
    add(constraints, { LTarget: "${attr.nomad.version}", RTarget: ">= 1.4.0", Operand: "semver" });
  }
  const sent = signals(group);
  if (sent.length > 0) {
    add(constraints, { LTarget: "${attr.os.signals}", RTarget: sent.join(","), Operand: "set_contains" });
  }
  if (group.Tasks?.some((task) => task.Schedule !== null)) {
    add(constraints, { LTarget: "${attr.nomad.version}", RTarget: ">= 1.8.0-dev", Operand: "semver" });
  }
  return constraints.length === 0 ? null : constraints;
}
