export { diskHands, diskPath } from "./disk-hands.ts";
export type {
  AllocDirSubject,
  AllocDirUnderTest,
  ConformanceCapabilities,
  ConformanceContext,
  ConformanceFaults,
  FifoEnds,
  TaskHands,
} from "./subject.ts";
export {
  allocDirConformance,
  CONFORMANCE_CASES,
  runAllocDirConformance,
  type CaseResult,
  type ConformanceOptions,
  type ConformanceReport,
  type Runner,
} from "./suite.ts";
