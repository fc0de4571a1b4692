import { HttpError } from "./http-error.ts";

/** A whole UUID of a path, in lower case; anything else is answered as Nomad does. */
export function checkUuid(text: string | undefined, what: "alloc" | "eval" | "node" | "deployment"): string {
  const id = (text ?? "").toLowerCase();
  if (id.length !== 36) throw new HttpError(500, `${what} lookup failed: index error: UUID must be 36 characters`);
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw new HttpError(500, `${what} lookup failed: index error: Invalid UUID`);
  return id;
}
