import { isDeepStrictEqual } from "node:util";
import { isClientTerminal, type ServiceRegistration } from "@outrider/nomad-structs";
import type { ServiceEntry } from "../alloc/services/service-registrar.ts";
import { serverError } from "./server-error.ts";
import type { Tx } from "./tx.ts";

/** Lists service instances; those of an allocation that is unknown or has ended are left out. */
export function registerServices(tx: Tx, entries: readonly ServiceEntry[]): void {
  for (const entry of entries) {
    const alloc = tx.allocs.get(entry.AllocID);
    if (alloc === undefined || isClientTerminal(alloc.ClientStatus)) continue;
    const before = tx.services.get(entry.ID);
    const same =
      before !== undefined &&
      isDeepStrictEqual({ ...before, CreateIndex: 0, ModifyIndex: 0 }, { ...entry, CreateIndex: 0, ModifyIndex: 0 });
    if (!same)
      tx.services.put(entry.ID, { ...entry, CreateIndex: before?.CreateIndex ?? tx.index, ModifyIndex: tx.index });
  }
}

/** Takes instances off the list; unknown ones are no failure. */
export function deregisterServices(tx: Tx, ids: readonly string[]): void {
  for (const id of ids) if (tx.services.get(id) !== undefined) tx.services.delete(id);
}

/** Nothing of an allocation that has ended stays listed, whatever its node managed to say. */
export function forgetServicesOf(tx: Tx, allocId: string): void {
  for (const { ID } of tx.services.by("alloc", allocId)) tx.services.delete(ID);
}

/** Takes one off the list by hand. Throws ERR_OUTRIDER_SERVER_NOT_FOUND. */
export function deleteService(
  tx: Tx,
  o: { readonly namespace: string; readonly name: string; readonly id: string },
): number {
  const found: ServiceRegistration | undefined = tx.services.get(o.id);
  if (found === undefined || found.ServiceName !== o.name || found.Namespace !== o.namespace) {
    throw serverError("ERR_OUTRIDER_SERVER_NOT_FOUND", "service registration not found", { service: o.name, id: o.id });
  }
  tx.services.delete(o.id);
  return tx.index;
}
