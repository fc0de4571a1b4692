import { timingSafeEqual } from "node:crypto";
import { blake2b512 } from "./blake2b.ts";

/**
 * The token that lets another node fetch the disk of one allocation: keyed BLAKE2b-512 over the allocation's id with the secret id of the
 * node that has it, in padded base64url (Nomad's migrate token). @public
 */
export function migrateToken(allocId: string, nodeSecretId: string): string {
  const digest = blake2b512(Buffer.from(allocId), Buffer.from(nodeSecretId));
  return digest.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

/** Whether a token is the one of this allocation on this node; compared in constant time. @public */
export function isMigrateToken(token: string, allocId: string, nodeSecretId: string): boolean {
  const wanted = Buffer.from(migrateToken(allocId, nodeSecretId));
  const given = Buffer.from(token);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
