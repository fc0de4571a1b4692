import type { Service, ServiceCheck, TaskArtifact, Template } from "@outrider/nomad-structs";
import type { PartFault, PartJudges } from "../jobspec/index.ts";
import { ArtifactFault, artifactSource } from "../task/artifact/artifact-source.ts";
import { parseTemplate } from "../task/template/parse-template.ts";
import { TemplateError } from "../task/template/template-tree.ts";

/** What this client cannot honour of artifacts, templates and services, found at submit so that no job runs without the part. */
export const PART_JUDGES: PartJudges = { artifact: artifactFaults, template: templateFaults, service: serviceFaults };

function artifactFaults(artifact: TaskArtifact): readonly PartFault[] {
  try {
    artifactSource(artifact, { literal: !artifact.GetterSource.includes("${") });
    return [];
  } catch (error) {
    if (error instanceof ArtifactFault) return [{ field: error.field, message: error.message }];
    throw error;
  }
}

function templateFaults(t: Template): readonly PartFault[] {
  const faults: PartFault[] = [];
  if (t.ChangeMode === "script")
    faults.push({ field: "ChangeMode", message: 'change_mode "script" is not supported by this client' });
  if (t.Envvars && t.ChangeMode === "signal")
    faults.push({
      field: "ChangeMode",
      message: "a template with env = true cannot have change_mode signal: variables are read at the start",
    });
  if (t.Wait !== null)
    faults.push({ field: "Wait", message: "a wait block of a template is not supported by this client" });
  if (Number.parseInt(t.Perms, 8) > 0o777)
    faults.push({
      field: "Perms",
      message: `perms ${JSON.stringify(t.Perms)}: set-id and sticky bits are not supported by this client`,
    });
  // The text of a source file is known on the node only.
  if (t.EmbeddedTmpl !== "") {
    try {
      parseTemplate(t.EmbeddedTmpl, { leftDelim: t.LeftDelim, rightDelim: t.RightDelim });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      faults.push({ field: "EmbeddedTmpl", message: error.message });
    }
  }
  return faults;
}

function serviceFaults(service: Service): readonly PartFault[] {
  const faults: PartFault[] = [];
  const modeFault = (mode: string): string | undefined =>
    ["", "auto", "host"].includes(mode)
      ? undefined
      : `address_mode ${JSON.stringify(mode)} is not supported by this client: there is no network but the host's`;
  const own = modeFault(service.AddressMode);
  if (own !== undefined) faults.push({ field: "AddressMode", message: own });
  for (const check of service.Checks ?? []) {
    const field = "Checks";
    const name = `check ${JSON.stringify(check.Name)}: `;
    const mode = modeFault(check.AddressMode);
    if (mode !== undefined) faults.push({ field, message: name + mode });
    for (const what of checkFaults(check))
      faults.push({ field, message: `${name}${what} is not supported by this client` });
  }
  return faults;
}

function checkFaults(check: ServiceCheck): readonly string[] {
  const faults: string[] = [];
  if (check.Type !== "tcp" && check.Type !== "http") faults.push(`the type ${JSON.stringify(check.Type)}`);
  if (check.Expose) faults.push("expose");
  if (check.SuccessBeforePassing > 0) faults.push("success_before_passing");
  if (check.FailuresBeforeCritical > 0) faults.push("failures_before_critical");
  if (check.FailuresBeforeWarning > 0) faults.push("failures_before_warning");
  if (check.InitialStatus !== "") faults.push("initial_status");
  return faults;
}
