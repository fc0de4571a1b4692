/** One-time certificates of go-plugin's mutual TLS: each side makes one, and trusts nothing but the other's. */
import { KeyObject, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import type { Clock } from "@outrider/backoff";
import { PluginStartError } from "../contract/errors.ts";

/** A self-signed certificate with its key. */
export interface OneTimeCertificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** The certificate as it stands in a handshake line: DER in base64 without padding. */
  readonly field: string;
}

/** The part of `@peculiar/x509` that is used. */
type X509Library = Awaited<ReturnType<typeof loadLibrary>>;

const BACKDATE_MS = 30_000;
/** 30 years, as go-plugin has it: the certificate lives as long as the process. */
const LIFETIME_MS = 262_980 * 3_600_000;
const SIGNING = { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" } as const;

// oxlint-disable-next-line typescript/explicit-function-return-type -- its type is the library's, which only the import knows
async function loadLibrary() {
  await import("reflect-metadata"); // the library's decorators want it, and first
  return import("@peculiar/x509");
}

/**
 * Makes a certificate for `localhost`, with the properties that go-plugin gives its own.
 * @throws {@link PluginStartError} of kind `certificate` where the optional packages are not installed
 */
export async function createCertificate(
  clock: Clock,
  load: () => Promise<X509Library> = loadLibrary,
): Promise<OneTimeCertificate> {
  let x509: X509Library;
  try {
    x509 = await load();
  } catch (cause) {
    throw new PluginStartError(
      "certificate",
      "mutual TLS needs the optional packages @peculiar/x509 and reflect-metadata, which cannot be loaded",
      { cause, details: { packages: "@peculiar/x509 reflect-metadata" } },
    );
  }
  const keys = await webcrypto.subtle.generateKey(SIGNING, true, ["sign", "verify"]);
  const { KeyUsageFlags: use } = x509;
  const now = clock.now();
  const cert = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: randomBytes(16).toString("hex"),
      name: "CN=localhost, O=HashiCorp",
      notBefore: new Date(now - BACKDATE_MS),
      notAfter: new Date(now + LIFETIME_MS),
      keys,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          use.digitalSignature | use.keyEncipherment | use.keyAgreement | use.keyCertSign,
          true,
        ),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }]),
      ],
    },
    webcrypto,
  );
  return {
    certPem: `${cert.toString("pem")}\n`,
    keyPem: KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" }) as string,
    field: Buffer.from(cert.rawData).toString("base64").replace(/=+$/, ""),
  };
}

/**
 * The other side's certificate, as PEM or as base64 of its DER, in PEM.
 * @throws {@link PluginStartError} of kind `certificate`
 */
export function readCertificate(text: string, whose: string): string {
  try {
    return new X509Certificate(text.includes("-----BEGIN") ? text : Buffer.from(text, "base64")).toString();
  } catch (cause) {
    throw new PluginStartError("certificate", `${whose} sent a certificate that cannot be read`, {
      cause,
      details: { certificate: text.slice(0, 200) },
    });
  }
}
