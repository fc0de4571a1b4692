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
  const source = artifact.GetterSource;
  const unknown = !o.literal && source.includes("${");
  let url: URL;
  try {
    url = new URL(unknown ? "http://unknown/file" : source);
  } catch {
    throw new ArtifactFault("GetterSource", `artifact source ${JSON.stringify(source)} is not an http or https URL`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ArtifactFault("GetterSource", `artifact source ${JSON.stringify(source)}: only http and https are supported`);
  }
  if (!["", "any", "file"].includes(artifact.GetterMode)) {
    throw new ArtifactFault("GetterMode", `artifact mode ${JSON.stringify(artifact.GetterMode)} is not supported: single files only`);
  }
  if (artifact.GetterInsecure) throw new ArtifactFault("GetterInsecure", "artifact insecure = true is not supported: certificates are always checked");
  if (artifact.Chown) throw new ArtifactFault("Chown", "artifact chown = true is not supported");
  const options = artifact.GetterOptions ?? {};
  for (const key of Object.keys(options)) {
    if (!["checksum", "archive", "filename"].includes(key)) throw new ArtifactFault("GetterOptions", `artifact option ${JSON.stringify(key)} is not supported`);
  }
  const plain = ["false", "0"].includes(options["archive"] ?? "");
  if (!plain && (ARCHIVES.test(url.pathname) || (options["archive"] ?? "") !== "")) {
    throw new ArtifactFault("GetterOptions", `artifact ${JSON.stringify(source)} is an archive: unpacking is not supported (archive = false keeps it packed)`);
  }
  const name = options["filename"] ?? decodeURIComponent(url.pathname.slice(url.pathname.lastIndexOf("/") + 1));
  const destination = artifact.RelativeDest || "local/";
  const wholeFile = artifact.GetterMode === "file";
  if (!wholeFile && name === "") throw new ArtifactFault("GetterSource", `artifact source ${JSON.stringify(source)} names no file`);
  return { url: source, path: wholeFile ? destination : `${destination}/${name}`, checksum: checksumOf(options["checksum"]) };
}

function checksumOf(text: string | undefined): ArtifactSource["checksum"] {
  if (text === undefined || text.includes("${")) return undefined;
  const [algorithm = "", hex = ""] = text.split(":");
  if (!Object.hasOwn(DIGESTS, algorithm) || hex.length !== DIGESTS[algorithm as keyof typeof DIGESTS] || !/^[0-9a-f]+$/i.test(hex)) {
    throw new ArtifactFault("GetterOptions", `artifact checksum ${JSON.stringify(text)} is not of the form md5|sha1|sha256|sha512:<hex>`);
  }
  return { algorithm: algorithm as keyof typeof DIGESTS, hex: hex.toLowerCase() };
}
