/** Keys of the client's state that the node itself keeps; the rest below an allocation belongs to its runner. */
export const ALLOCATIONS_PREFIX = "allocations/";

/** Everything of one allocation. */
export function allocPrefix(id: string): string {
  return `${ALLOCATIONS_PREFIX}${id}/`;
}

/** The server's version of an allocation. */
export function allocKey(id: string): string {
  return `${allocPrefix(id)}alloc`;
}

/** What a server last confirmed. */
export function ackKey(id: string): string {
  return `${allocPrefix(id)}acknowledged_state`;
}

/** Whether this node was ever registered. */
export const REGISTERED_KEY = "node/node_registration";
