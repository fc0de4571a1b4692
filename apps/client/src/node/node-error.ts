import { OutriderError } from "@outrider/foundation";

/** Failures of calls about this node's allocations, in the words that Nomad's clients match on. */
export type NodeErrorCode =
  | "ERR_OUTRIDER_NODE_UNKNOWN_ALLOC"
  | "ERR_OUTRIDER_NODE_UNKNOWN_TASK"
  | "ERR_OUTRIDER_NODE_NOT_STARTED"
  | "ERR_OUTRIDER_NODE_NOT_RUNNING"
  | "ERR_OUTRIDER_NODE_INVALID"
  | "ERR_OUTRIDER_NODE_NOT_ELIGIBLE";

/** Makes an error of the node. */
export function nodeError(
  code: NodeErrorCode,
  message: string,
  details: Readonly<Record<string, string>> = {},
): OutriderError {
  return new OutriderError(code, message, { details });
}

/** No allocation of this id is here. */
export function unknownAlloc(id: string): OutriderError {
  return nodeError("ERR_OUTRIDER_NODE_UNKNOWN_ALLOC", `Unknown allocation "${id}"`, { alloc: id });
}
