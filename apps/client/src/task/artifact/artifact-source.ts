import type { TaskArtifact } from "@outrider/nomad-structs";

/** Endings that other getters unpack; ours says so instead of leaving a packed file behind. */
const ARCHIVES = /\.(?:tar|tar\.gz|tgz|tar\.bz2|tbz2|tar\.xz|txz|tar\.zst|tzst|zip|gz|bz2|xz|zst)$/i;

const DIGESTS = { md5: 32, sha1: 40, sha256: 64, sha512: 128 } as const;

/** What is known of an artifact before anything is fetched. */
export interface ArtifactSource {
  readonly url: string;
  /** Path below the task's folder where the file goes. */
  readonly path: string;
  readonly checksum: { readonly algorithm: keyof typeof DIGESTS; readonly hex: string } | undefined;
}

/** Why an artifact cannot be honoured: the field, and in words what. */
export class ArtifactFault extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/**
 * Reads an artifact block: single files over http and https. `literal` is false while the block still holds `${…}` of the run
 * time, whose values cannot be judged yet. Throws ArtifactFault.
 */
export function artifactSource(artifact: TaskArtifact, o: { readonly literal: boolean }): ArtifactSource {
  const source = shownSource(artifact.GetterSource);
  const url = urlOf(artifact.GetterSource, o.literal);
  if (!["", "any", "file"].includes(artifact.GetterMode)) {
    throw new ArtifactFault(
      "GetterMode",
      `artifact mode ${JSON.stringify(artifact.GetterMode)} is not supported: single files only`,
    );
  }
  if (artifact.GetterInsecure)
    throw new ArtifactFault(
      "GetterInsecure",
      "artifact insecure = true is not supported: certificates are always checked",
    );
  if (artifact.Chown) throw new ArtifactFault("Chown", "artifact chown = true is not supported");
  const options = { ...taken(url), ...artifact.GetterOptions };
  for (const key of Object.keys(options)) {
    if (!OPTIONS.includes(key))
      throw new ArtifactFault("GetterOptions", `artifact option ${JSON.stringify(key)} is not supported`);
  }
  const archive = options["archive"] ?? "";
  const plain = archive === "false" || archive === "0";
  if (!plain && (ARCHIVES.test(url.pathname) || archive !== "")) {
    throw new ArtifactFault(
      "GetterOptions",
      `artifact ${JSON.stringify(source)} is an archive: unpacking is not supported (archive = false keeps it packed)`,
    );
  }
  const destination = artifact.RelativeDest || "local/";
  const wholeFile = artifact.GetterMode === "file";
  const path = wholeFile ? destination : `${destination}/${options["filename"] ?? lastName(url)}`;
  return { url: url.href, path, checksum: checksumOf(options["checksum"]) };
}

const OPTIONS = ["checksum", "archive", "filename"];

/** A source without what may be a password. */
export function shownSource(source: string): string {
  return source.replace(/^([a-z]+:\/\/)[^/@]*@/i, "$1");
}

function urlOf(source: string, literal: boolean): URL {
  const shown = JSON.stringify(shownSource(source));
  let url: URL;
  try {
    // What only the node knows stands for a name here.
    url = new URL(
      literal ? source : source.replace(/^\$\{[^}]*\}(?=\/|$)/, "http://unknown").replace(/\$\{[^}]*\}/g, "unknown"),
    );
  } catch {
    throw new ArtifactFault("GetterSource", `artifact source ${shown} is not an http or https URL`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ArtifactFault("GetterSource", `artifact source ${shown}: only http and https are supported`);
  }
  if (url.pathname.includes("//"))
    throw new ArtifactFault(
      "GetterSource",
      `artifact source ${shown}: a subfolder of an archive (//) is not supported`,
    );
  return url;
}

/** Options that stand in the URL, as other getters allow it; they are not part of what is fetched. */
function taken(url: URL): Record<string, string> {
  const found: Record<string, string> = {};
  for (const key of OPTIONS) {
    const value = url.searchParams.get(key);
    if (value === null) continue;
    found[key] = value;
    url.searchParams.delete(key);
  }
  return found;
}

function lastName(url: URL): string {
  let name: string;
  try {
    name = decodeURIComponent(url.pathname.slice(url.pathname.lastIndexOf("/") + 1));
  } catch {
    name = "";
  }
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw new ArtifactFault(
      "GetterSource",
      `artifact source ${JSON.stringify(`${url.origin}${url.pathname}`)} names no file`,
    );
  }
  return name;
}

function checksumOf(text: string | undefined): ArtifactSource["checksum"] {
  if (text === undefined || text.includes("${")) return undefined;
  const [algorithm = "", hex = ""] = text.split(":");
  if (
    !Object.hasOwn(DIGESTS, algorithm) ||
    hex.length !== DIGESTS[algorithm as keyof typeof DIGESTS] ||
    !/^[0-9a-f]+$/i.test(hex)
  ) {
    throw new ArtifactFault(
      "GetterOptions",
      `artifact checksum ${JSON.stringify(text)} is not of the form md5|sha1|sha256|sha512:<hex>`,
    );
  }
  return { algorithm: algorithm as keyof typeof DIGESTS, hex: hex.toLowerCase() };
}
