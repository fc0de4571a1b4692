import type { ServiceRegistration } from "@outrider/nomad-structs";

/** A service instance to be listed; the server adds its indexes. */
export type ServiceEntry = Omit<ServiceRegistration, "CreateIndex" | "ModifyIndex">;

/** Where services of provider `nomad` are listed. Both calls are idempotent and reject when the list could not be changed. */
export interface ServiceRegistrar {
  register(entries: readonly ServiceEntry[]): Promise<void>;
  deregister(ids: readonly string[]): Promise<void>;
}
