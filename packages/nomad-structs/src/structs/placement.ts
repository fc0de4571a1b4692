import { int, list, refs, str, struct, uint, type Infer } from "../dsl/field.ts";

const constraintFields = { LTarget: str(), RTarget: str(), Operand: str() };
/** A demand on the node, e.g. `${attr.kernel.name}` `=` `linux`. @public */
export interface Constraint extends Infer<typeof constraintFields> {}
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
export const AffinityStruct = struct<Affinity>("Affinity", affinityFields);

const spreadTargetFields = { Value: str(), Percent: uint(8) };
/** The share of one attribute value of a spread. @public */
export interface SpreadTarget extends Infer<typeof spreadTargetFields> {}
export const SpreadTargetStruct = struct<SpreadTarget>("SpreadTarget", spreadTargetFields);

const spreadFields = { Attribute: str(), Weight: int(8), SpreadTarget: refs(SpreadTargetStruct) };
/** How to spread allocations over the values of an attribute. @public */
export interface Spread extends Infer<typeof spreadFields> {}
export const SpreadStruct = struct<Spread>("Spread", spreadFields);

const versionTagFields = { Name: str(), Description: str(), TaggedTime: int() };
/** A name given to one version of a job. @public */
export interface JobVersionTag extends Infer<typeof versionTagFields> {}
export const JobVersionTagStruct = struct<JobVersionTag>("JobVersionTag", versionTagFields);

const linkFields = { Label: str(), URL: str() };
/** A link on the job's page. @public */
export interface JobUILink extends Infer<typeof linkFields> {}
export const JobUILinkStruct = struct<JobUILink>("JobUILink", linkFields);

const uiFields = { Description: str(), Links: refs(JobUILinkStruct) };
/** What the web page shows of a job. @public */
export interface JobUIConfig extends Infer<typeof uiFields> {}
export const JobUIConfigStruct = struct<JobUIConfig>("JobUIConfig", uiFields);

const multiregionStrategyFields = { MaxParallel: int(), OnFailure: str() };
/** How a job is rolled over regions. @public */
export interface MultiregionStrategy extends Infer<typeof multiregionStrategyFields> {}
export const MultiregionStrategyStruct = struct<MultiregionStrategy>("MultiregionStrategy", multiregionStrategyFields);

/** Strings of a list, null when not set. */
export const strings = () => list(str());
