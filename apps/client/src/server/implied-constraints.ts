import type { Constraint, Job, TaskGroup } from "@outrider/nomad-structs";

/** Adds the constraints that follow from what a job uses: Nomad services, and signals its tasks must be able to get. */
export function withImpliedConstraints(job: Job): Job {
  return { ...job, TaskGroups: (job.TaskGroups ?? []).map(withGroupConstraints) };
}

function withGroupConstraints(group: TaskGroup): TaskGroup {
  const wanted: Constraint[] = [];
  const services = [...(group.Services ?? []), ...(group.Tasks ?? []).flatMap((task) => task.Services ?? [])];
  if (services.some((service) => service.Provider === "nomad")) {
    wanted.push({ LTarget: "${attr.nomad.service_discovery}", RTarget: "true", Operand: "=" });
    wanted.push({ LTarget: "${attr.nomad.version}", RTarget: ">= 1.4.0", Operand: "semver" });
  }
  const signals = new Set<string>();
  for (const task of group.Tasks ?? []) {
    if (task.KillSignal !== "") signals.add(task.KillSignal);
    for (const template of task.Templates ?? [])
      if (template.ChangeMode === "signal" && template.ChangeSignal !== "") signals.add(template.ChangeSignal);
  }
  if (signals.size > 0)
    wanted.push({ LTarget: "${attr.os.signals}", RTarget: [...signals].sort().join(","), Operand: "set_contains" });
  const missing = wanted.filter(
    (c) =>
      !(group.Constraints ?? []).some(
        (have) => have.LTarget === c.LTarget && have.RTarget === c.RTarget && have.Operand === c.Operand,
      ),
  );
  return missing.length === 0 ? group : { ...group, Constraints: [...(group.Constraints ?? []), ...missing] };
}
