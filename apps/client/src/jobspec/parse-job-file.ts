import { resolve } from "node:path";
import {
  createStdlib,
  expandDynamicBlocks,
  parse,
  type Block,
  type Body,
  type Diagnostic,
  type EvalContext,
  type ExpandedBlock,
} from "@outrider/hcl";
import { decodeInput, JobStruct, type JobInput } from "@outrider/nomad-structs";
import { isOutriderError } from "@outrider/foundation";
import { job as jobSpec } from "./blocks/job.ts";
import { BodyDecoder } from "./decode-body.ts";
import type { JobDiagnostic } from "./diagnostics.ts";
import { FileEvaluator } from "./evaluator.ts";
import { fileFunctions, localFiles, unreadable, type FileAccess } from "./file-functions.ts";
import { jsonTextFault } from "./json-text.ts";
import { MAX_BLOCKS, MAX_DYNAMIC_STEPS, MAX_JOB_BYTES, MAX_JOB_DEPTH, MAX_JOB_NODES } from "./limits.ts";
import { jobContext } from "./locals.ts";
import { parseJobJson } from "./parse-job-json.ts";
import { didYouMean } from "./suggest.ts";
import { JobVariables } from "./variables.ts";

const ENV_PREFIX = "NOMAD_VAR_";
const TOP_BLOCKS = ["job", "variable", "variables", "locals"];

/** Options of {@link parseJobFile}. */
export interface ParseJobFileOptions {
  /** Shown in diagnostics. */
  readonly filename: string;
  /** Values by `-var`; they win over all others. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Paths of `-var-file`, later ones win; relative to `cwd`. */
  readonly varFiles?: readonly string[];
  /** Where `NOMAD_VAR_name` is looked up; default nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether values for undeclared variables are errors; default true. */
  readonly strict?: boolean;
  /** Folder of relative paths in file functions; default the process's. */
  readonly cwd?: string;
  /** The file is job JSON, not HCL. */
  readonly json?: boolean;
  /** How files are reached; default this machine's files. */
  readonly files?: FileAccess;
}

/** What {@link parseJobFile} gives. */
export interface ParsedJobFile {
  /** The job in its submitted form; undefined when a diagnostic is an error. */
  readonly job: JobInput | undefined;
  readonly diagnostics: readonly JobDiagnostic[];
}

function failed(diagnostics: readonly (JobDiagnostic | Diagnostic)[]): boolean {
  return diagnostics.some((d) => d.severity === "error");
}

function blocksOf(body: Body, diagnostics: JobDiagnostic[]): Map<string, Block[]> {
  const found = new Map<string, Block[]>();
  for (const attribute of body.attributes) {
    const detail = `There is no argument "${attribute.name}" at the top of a job file.`;
    diagnostics.push({
      severity: "error",
      code: "unsupported-argument",
      summary: "Unknown argument",
      detail,
      subject: attribute.nameRange,
    });
  }
  for (const block of body.blocks) {
    if (!TOP_BLOCKS.includes(block.type)) {
      const detail = `There is no "${block.type}" block at the top of a job file.${didYouMean(block.type, TOP_BLOCKS)}`;
      diagnostics.push({
        severity: "error",
        code: "unsupported-block",
        summary: "Unknown block",
        detail,
        subject: block.typeRange,
      });
      continue;
    }
    const list = found.get(block.type);
    if (list === undefined) found.set(block.type, [block]);
    else if (block.type !== "job") list.push(block);
    else {
      const detail = `A file holds one job; the first one is on line ${list[0]?.typeRange.start.line}.`;
      diagnostics.push({
        severity: "error",
        code: "duplicate-block",
        summary: "Job given twice",
        detail,
        subject: block.definitionRange,
      });
    }
  }
  return found;
}

function readVarFiles(
  variables: JobVariables,
  o: ParseJobFileOptions,
  files: FileAccess,
  strict: boolean,
): JobDiagnostic[] {
  const diagnostics: JobDiagnostic[] = [];
  for (const name of o.varFiles ?? []) {
    try {
      variables.setFile(files.read(resolve(o.cwd ?? process.cwd(), name)), name, strict);
    } catch (error) {
      const why = unreadable(error);
      const detail = `The variable file ${JSON.stringify(name)} cannot be read: ${why}.`;
      diagnostics.push({ severity: "error", code: "unreadable-file", summary: "File not readable", detail });
    }
  }
  return diagnostics;
}

function setVariables(variables: JobVariables, o: ParseJobFileOptions, files: FileAccess): JobDiagnostic[] {
  const strict = o.strict ?? true;
  for (const [key, value] of Object.entries(o.env ?? {})) {
    if (!key.startsWith(ENV_PREFIX) || value === undefined) continue;
    variables.setText(key.slice(ENV_PREFIX.length), value, `by ${key}`, "ignore");
  }
  const diagnostics = readVarFiles(variables, o, files, strict);
  for (const [name, value] of Object.entries(o.vars ?? {})) {
    variables.setText(name, value, "by -var", strict ? "error" : "warning");
  }
  return diagnostics;
}

/** `variables { name = default }` declares several variables at once, without types. */
function shortDeclarations(blocks: readonly Block[], diagnostics: JobDiagnostic[]): void {
  for (const block of blocks) {
    const detail = 'Declare each variable in a block of its own: variable "name" { … }.';
    diagnostics.push({
      severity: "error",
      code: "unsupported-block",
      summary: "Unknown block",
      detail,
      subject: block.typeRange,
    });
  }
}

function decodeJob(
  block: ExpandedBlock,
  evaluator: FileEvaluator,
): { job: JobInput | undefined; diagnostics: (JobDiagnostic | Diagnostic)[] } {
  const decoder = new BodyDecoder(evaluator);
  const label = block.labels[0];
  const extra = block.labels[1];
  if (extra !== undefined) decoder.report("extra-label", "Label too many", "A job block takes one label.", extra.range);
  if (label === undefined) {
    decoder.report("missing-label", "Label missing", "A job block needs a label: its ID.", block.source.openBraceRange);
  }
  const part = decoder.body(block.body, jobSpec, label?.value, block.definitionRange);
  if (failed(decoder.diagnostics)) return { job: undefined, diagnostics: decoder.diagnostics };
  try {
    // Checks ranges and bounds; unknown keys cannot be, as the specs name them all.
    decodeInput(JobStruct, part, { unknownKeys: "keep", maxDepth: MAX_JOB_DEPTH, maxNodes: MAX_JOB_NODES });
    return { job: part as JobInput, diagnostics: decoder.diagnostics };
  } catch (error) {
    if (!isOutriderError(error)) throw error;
    const detail = `${error.message}.`;
    decoder.report("invalid-job", "Job not valid", detail, block.definitionRange);
    return { job: undefined, diagnostics: decoder.diagnostics };
  }
}

function parseHcl(text: string | Uint8Array, o: ParseJobFileOptions): ParsedJobFile {
  const files = o.files ?? localFiles;
  const stop = (diagnostics: readonly (JobDiagnostic | Diagnostic)[]): ParsedJobFile => ({
    job: undefined,
    diagnostics,
  });
  const { body, diagnostics: syntax } = parse(text, { filename: o.filename, maxBytes: MAX_JOB_BYTES });
  if (failed(syntax)) return stop(syntax);
  const found: (JobDiagnostic | Diagnostic)[] = [...syntax];
  const evaluator = new FileEvaluator();
  const functions: EvalContext = { functions: { ...createStdlib(), ...fileFunctions(o.cwd ?? process.cwd(), files) } };

  const structure: JobDiagnostic[] = [];
  const blocks = blocksOf(body, structure);
  shortDeclarations(blocks.get("variables") ?? [], structure);
  const variables = new JobVariables(evaluator, functions);
  for (const block of blocks.get("variable") ?? []) variables.declare(block);
  const unreadable = setVariables(variables, o, files);
  const values = variables.finish();
  found.push(...structure, ...unreadable, ...variables.diagnostics);
  if (failed(found)) return stop(found);

  const jobBlock = blocks.get("job")?.[0];
  if (jobBlock === undefined) {
    return stop([
      ...found,
      { severity: "error", code: "missing-job", summary: "No job", detail: "The file holds no job block." },
    ]);
  }
  const localFaults: (JobDiagnostic | Diagnostic)[] = [];
  const { context, locals } = jobContext(evaluator, functions, values, blocks.get("locals") ?? [], localFaults);
  locals.finish();
  found.push(...localFaults);
  if (failed(found)) return stop(found);

  const bounded: EvalContext = { ...context, limits: { maxSteps: MAX_DYNAMIC_STEPS } };
  const expanded = expandDynamicBlocks(body, bounded, { maxBlocks: MAX_BLOCKS });
  found.push(...expanded.diagnostics);
  if (failed(found)) return stop(found);
  const block = expanded.body.blocks.find((b) => b.source === jobBlock) as ExpandedBlock;
  const { job, diagnostics } = decodeJob(block, evaluator);
  return { job, diagnostics: [...found, ...diagnostics] };
}

function parseJsonFile(text: string | Uint8Array, o: ParseJobFileOptions): ParsedJobFile {
  try {
    return { job: parseJobJson(typeof text === "string" ? text : new TextDecoder().decode(text)), diagnostics: [] };
  } catch (error) {
    if (!isOutriderError(error)) throw error;
    const detail = `${o.filename}: ${error.message}.`;
    return {
      job: undefined,
      diagnostics: [{ severity: "error", code: "invalid-job", summary: "Job not valid", detail }],
    };
  }
}

/**
 * Reads a job file and gives the job as the stock CLI would submit it. Faults are diagnostics with their place, never
 * exceptions. Size, nesting, blocks and evaluation are bounded by counts, so the result does not depend on the machine.
 */
export function parseJobFile(text: string | Uint8Array, o: ParseJobFileOptions): ParsedJobFile {
  if (o.json === true) return parseJsonFile(text, o);
  const fault = jsonTextFault(text, o.filename);
  return fault === undefined ? parseHcl(text, o) : { job: undefined, diagnostics: [fault] };
}
