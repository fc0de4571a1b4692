/** Names that get cleaned, so that programs can read them. */
const CLEANED = /^(?:NOMAD_ADDR_|NOMAD_IP_|NOMAD_PORT_|NOMAD_HOST_PORT_|NOMAD_META_)/;

/** A variable name in which every character that some shells refuse is an underscore (hashicorp/nomad#2405). */
export function cleanEnvName(name: string): string {
  return name.replace(/[^A-Za-z0-9_.]/g, "_").replace(/^[0-9]/, "_");
}

/** The map with the names of ports, addresses and meta cleaned. */
export function cleanEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) out[CLEANED.test(name) ? cleanEnvName(name) : name] = value;
  return out;
}

/** Variables of the agent that tasks never inherit unless the operator says so. */
export const HOST_ENV_DENYLIST: readonly string[] = [
  "CONSUL_TOKEN",
  "CONSUL_HTTP_TOKEN",
  "CONSUL_HTTP_TOKEN_FILE",
  "NOMAD_TOKEN",
  "OUTRIDER_HTTP_TOKEN",
  "VAULT_TOKEN",
  "CONSUL_LICENSE",
  "CONSUL_LICENSE_PATH",
  "NOMAD_LICENSE",
  "NOMAD_LICENSE_PATH",
  "VAULT_LICENSE",
  "VAULT_LICENSE_PATH",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_METADATA_URL",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "GOOGLE_OAUTH_ACCESS_TOKEN",
];
