/** From a driver's words to what the node publishes. */
import type { Fingerprint } from "@outrider/plugin-driver";
import type { DriverChange } from "./driver-manager.ts";

/** Nomad's words for a driver that cannot be asked. */
export const FINGERPRINT_FAILED = "failed to fingerprint driver";

/** What a report means for the node. */
export function driverChange(name: string, report: Fingerprint, nowMs: number): DriverChange {
  const detected = report.health !== "undetected";
  const attributes: Record<string, string> = {};
  for (const [key, { value, unit }] of Object.entries(report.attributes)) attributes[key] = `${value}${unit ?? ""}`;
  // the old style attribute that constraints still ask for
  if (detected) attributes[`driver.${name}`] = "1";
  else delete attributes[`driver.${name}`];
  const failed = report.error !== undefined && report.error !== "";
  return {
    name,
    attributes,
    info: {
      Attributes: attributes,
      Detected: detected,
      Healthy: !failed && report.health === "healthy",
      HealthDescription: failed ? FINGERPRINT_FAILED : report.healthDescription,
      UpdateTime: new Date(nowMs).toISOString(),
    },
  };
}

/** A driver that cannot be asked. Nothing of what it said last is believed; the reason is shown. */
export function failedChange(name: string, reason: unknown, nowMs: number): DriverChange {
  const why = reason instanceof Error ? reason.message : String(reason);
  return {
    name,
    attributes: {},
    info: {
      Attributes: {},
      Detected: false,
      Healthy: false,
      HealthDescription: `${FINGERPRINT_FAILED}: ${why}`,
      UpdateTime: new Date(nowMs).toISOString(),
    },
  };
}
