/** `${name}`; anything else between the braces is not ours to touch. */
const REFERENCE = /\$\{([A-Za-z0-9_.-]+)\}/g;

/** Replaces every `${name}` that `lookup` knows; the others stay as they are. */
export function interpolate(text: string, lookup: (name: string) => string | undefined): string {
  if (!text.includes("${")) return text;
  return text.replace(REFERENCE, (whole, name: string) => lookup(name) ?? whole);
}
