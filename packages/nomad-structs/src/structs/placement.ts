import { int, list, refs, str, struct, uint, type Infer } from "../dsl/field.ts";

const constraintFields = { LTarget: str(), RTarget: str(), Operand: str() };
/** A demand on the node, e.g. `${attr.kernel.name}` `=` `linux`. @public */
export interface Constraint extends Infer<typeof constraintFields> {}
/** The description of {@link Constraint}. @public */
export const ConstraintStruct = struct<Constraint>("Constraint", constraintFields);

const affinityFields = {
  LTarget: str(),
  RTarget: str(),
  Operand: str(),
  /** −100 to 100, not 0; the server makes 50 of null. */
  Weight: int(8),
};
/** A wish about the node. @public */
export interface Affinity extends Infer<typeof affinityFields> {}
/** The description of {@link Affinity}. @public */
export const AffinityStruct = struct<Affinity>("Affinity", affinityFields);

const spreadTargetFields = { Value: str(), Percent: uint(8) };
/** The share of one attribute value of a spread. @public */
export interface SpreadTarget extends Infer<typeof spreadTargetFields> {}
/** The description of {@link SpreadTarget}. @public */
export const SpreadTargetStruct = struct<SpreadTarget>("SpreadTarget", spreadTargetFields);

const spreadFields = { Attribute: str(), Weight: int(8), SpreadTarget: refs(SpreadTargetStruct) };
/** How to spread allocations over the values of an attribute. @public */
export interface Spread extends Infer<typeof spreadFields> {}
/** The description of {@link Spread}. @public */
export const SpreadStruct = struct<Spread>("Spread", spreadFields);

const versionTagFields = { Name: str(), Description: str(), TaggedTime: int() };
/** A name given to one version of a job. @public */
export interface JobVersionTag extends Infer<typeof versionTagFields> {}
/** The description of {@link JobVersionTag}. @public */
export const JobVersionTagStruct = struct<JobVersionTag>("JobVersionTag", versionTagFields);

const linkFields = { Label: str(), URL: str() };
/** A link on the job's page. @public */
export interface JobUILink extends Infer<typeof linkFields> {}
/** The description of {@link JobUILink}. @public */
export const JobUILinkStruct = struct<JobUILink>("JobUILink", linkFields);

const uiFields = { Description: str(), Links: refs(JobUILinkStruct) };
/** What the web page shows of a job. @public */
export interface JobUIConfig extends Infer<typeof uiFields> {}
/** The description of {@link JobUIConfig}. @public */
export const JobUIConfigStruct = struct<JobUIConfig>("JobUIConfig", uiFields);

const multiregionStrategyFields = { MaxParallel: int(), OnFailure: str() };
/** How a job is rolled over regions. @public */
export interface MultiregionStrategy extends Infer<typeof multiregionStrategyFields> {}
/** The description of {@link MultiregionStrategy}. @public */
export const MultiregionStrategyStruct = struct<MultiregionStrategy>("MultiregionStrategy", multiregionStrategyFields);

/** Strings of a list, null when not set. */
export const strings = () => list(str());
