import { formatDuration, type Service, type ServiceCheck } from "@outrider/nomad-structs";
import type { Report } from "./report.ts";

const S = 1_000_000_000;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const PROVIDERS = ["nomad", "consul"];
const ADDRESS_MODES = ["auto", "alloc", "alloc_ipv6", "host", "driver"];
const CHECK_TYPES = ["tcp", "http", "grpc", "script"];
const ON_UPDATE = ["require_healthy", "ignore_warnings", "ignore"];

function checkCheck(check: ServiceCheck, service: Service, ports: ReadonlySet<string>, r: Report): void {
  const type = check.Type.toLowerCase();
  if (!CHECK_TYPES.includes(type)) {
    r.error(
      "check-type",
      "Type",
      check.Type,
      `type must be tcp, http, grpc or script, got ${JSON.stringify(check.Type)}`,
    );
    return;
  }
  if (service.Provider === "nomad" && type !== "tcp" && type !== "http") {
    r.error(
      "check-type",
      "Type",
      check.Type,
      `a service of provider "nomad" can have checks of type tcp and http only`,
    );
  }
  if (type === "http" && check.Path === "") r.error("check-path", "Path", "", "an http check needs a path");
  if (type === "script" && check.Command === "")
    r.error("check-command", "Command", "", "a script check needs a command");
  for (const key of ["Interval", "Timeout"] as const) {
    if (check[key] >= S) continue;
    const got = formatDuration(check[key]);
    r.error(`check-${key.toLowerCase()}`, key, got, `${key.toLowerCase()} must be at least 1s, got ${got}`);
  }
  if (!ON_UPDATE.includes(check.OnUpdate)) {
    r.error("check-on-update", "OnUpdate", check.OnUpdate, `on_update must be one of ${ON_UPDATE.join(", ")}`);
  }
  const needsPort = type !== "script";
  const label = check.PortLabel === "" ? service.PortLabel : check.PortLabel;
  if (needsPort && label === "") r.error("check-port", "PortLabel", "", "needs a port, its own or the service's");
  if (check.PortLabel !== "" && !/^\d+$/.test(check.PortLabel) && !ports.has(check.PortLabel)) {
    r.error(
      "check-port",
      "PortLabel",
      check.PortLabel,
      `names the port ${JSON.stringify(check.PortLabel)}, which no network has`,
    );
  }
  if (check.CheckRestart !== null && (check.CheckRestart.Limit < 0 || check.CheckRestart.Grace < 0)) {
    r.error(
      "check-restart",
      "CheckRestart",
      check.CheckRestart,
      "limit and grace of check_restart must not be negative",
    );
  }
}

function checkService(service: Service, ports: ReadonlySet<string>, r: Report): void {
  // Names with runtime references are known on the node only.
  if (!service.Name.includes("${") && !NAME.test(service.Name)) {
    const got = JSON.stringify(service.Name);
    r.error("service-name", "Name", service.Name, `${got} may hold letters, digits and inner -, at most 63 of them`);
  }
  if (!PROVIDERS.includes(service.Provider)) {
    r.error("service-provider", "Provider", service.Provider, `provider must be "nomad" or "consul"`);
  }
  if (!ADDRESS_MODES.includes(service.AddressMode)) {
    r.error(
      "service-address-mode",
      "AddressMode",
      service.AddressMode,
      `address_mode must be one of ${ADDRESS_MODES.join(", ")}`,
    );
  }
  if (!ON_UPDATE.includes(service.OnUpdate)) {
    r.error("service-on-update", "OnUpdate", service.OnUpdate, `on_update must be one of ${ON_UPDATE.join(", ")}`);
  }
  const port = service.PortLabel;
  if (port !== "" && !/^\d+$/.test(port) && !port.includes("${") && !ports.has(port)) {
    r.error("service-port", "PortLabel", port, `names the port ${JSON.stringify(port)}, which no network has`);
  }
  for (const [i, check] of (service.Checks ?? []).entries()) {
    checkCheck(check, service, ports, r.at(`Checks[${i}]`, `check ${JSON.stringify(check.Name)}`));
  }
}

/** Services of a group or task. */
export function checkServices(list: readonly Service[] | null, ports: ReadonlySet<string>, r: Report): void {
  const known = new Set<string>();
  for (const [i, service] of (list ?? []).entries()) {
    const at = r.at(`Services[${i}]`, `service ${JSON.stringify(service.Name)}`);
    checkService(service, ports, at);
    const id = JSON.stringify([service.Name, service.PortLabel]);
    if (known.has(id)) at.error("service-duplicate", "Name", service.Name, "is given twice with the same port");
    known.add(id);
  }
}
