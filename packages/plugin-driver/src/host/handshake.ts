/** The first line of a plugin's stdout. */
import { PluginStartError } from "../contract/errors.ts";
import type { PluginAddress } from "./channel.ts";

/** What a plugin announces. */
export interface Handshake extends PluginAddress {
  readonly protocolVersion: number;
  /** DER of the plugin's certificate in base64, or empty. */
  readonly serverCert: string;
}

/** Version of the handshake itself. */
const CORE_VERSION = 1;
/** Version of the application protocol that Nomad's plugins speak. */
export const APP_VERSIONS: readonly number[] = [2];
/** Shorter sixth fields are no certificate, whatever they hold. */
const MIN_CERT_CHARS = 50;

/** @throws {@link PluginStartError} whose kind says which field is wrong */
export function parseHandshake(line: string): Handshake {
  const text = line.trim();
  const [core = "", app = "", network = "", address = "", protocol = "netrpc", cert = ""] = text.split("|");
  const details = { line: text.slice(0, 200) };
  const fail = (kind: ConstructorParameters<typeof PluginStartError>[0], message: string): never => {
    throw new PluginStartError(kind, message, { details });
  };
  if (text.split("|").length < 4)
    fail("handshake", `plugin's first line is no handshake: ${JSON.stringify(details.line)}`);
  if (!/^\d{1,9}$/.test(core))
    fail("handshake", `handshake: core protocol version ${JSON.stringify(core)} is no number`);
  if (Number(core) !== CORE_VERSION) {
    fail("core-version", `handshake: plugin speaks core protocol ${core}, this host ${CORE_VERSION}`);
  }
  if (!/^\d{1,9}$/.test(app)) fail("handshake", `handshake: protocol version ${JSON.stringify(app)} is no number`);
  if (!APP_VERSIONS.includes(Number(app))) {
    fail("api-version", `handshake: plugin speaks protocol ${app}, this host ${APP_VERSIONS.join(", ")}`);
  }
  if (network !== "unix" && network !== "tcp") fail("network", `handshake: unknown network ${JSON.stringify(network)}`);
  if (address === "" || (network === "tcp" && !/^[^:]+:\d{1,5}$|^\[[^\]]+\]:\d{1,5}$/.test(address))) {
    fail("handshake", `handshake: ${JSON.stringify(address)} is no ${network} address`);
  }
  if (protocol !== "grpc") fail("protocol", `handshake: plugin speaks ${JSON.stringify(protocol)}, this host grpc`);
  return {
    network: network as Handshake["network"],
    address,
    protocolVersion: Number(app),
    serverCert: cert.length > MIN_CERT_CHARS ? cert : "",
  };
}
