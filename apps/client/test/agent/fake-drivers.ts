import { DriverInfoStruct, make } from "@outrider/nomad-structs";
import type { ClientDrivers } from "../../src/driver/create-driver-manager.ts";
import type { DriverChange } from "../../src/driver/driver-manager.ts";

/** Drivers that are there and healthy, without a process. */
export function fakeDrivers(names: readonly string[] = ["raw_exec"]): ClientDrivers {
  const listeners = new Set<(change: DriverChange) => void>();
  return {
    names,
    async start() {
      for (const name of names) {
        const info = make(DriverInfoStruct, {
          Attributes: { [`driver.${name}`]: "true" },
          Detected: true,
          Healthy: true,
          HealthDescription: "Healthy",
          UpdateTime: "2026-01-01T00:00:00Z",
        });
        for (const listener of listeners) listener({ name, info, attributes: { [`driver.${name}`]: "true" } });
      }
    },
    dispense: () => Promise.reject(new Error("fake drivers run nothing")),
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    onTaskEvent: () => ({ [Symbol.dispose]: () => undefined }),
    logCollector: {} as ClientDrivers["logCollector"],
    [Symbol.asyncDispose]: async () => undefined,
  };
}
