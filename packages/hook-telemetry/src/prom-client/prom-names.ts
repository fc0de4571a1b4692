/** A dotted name in Prometheus' form: illegal characters become `_`. @internal */
export function promMetricName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d|$)/, "_");
}

/** Names that Prometheus gives to parts of histograms and summaries. */
const RESERVED = new Set(["le", "quantile"]);

function promLabelName(name: string): string {
  const safe = name.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d|$)/, "_");
  return RESERVED.has(safe) ? `exported_${safe}` : safe;
}

/** Label names with their legal form; of two that would become the same, the first keeps it and the others are left out. @internal */
export function promLabelNames(names: readonly string[]): Map<string, string> {
  const safeNames = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of names) {
    const safe = promLabelName(name);
    if (taken.has(safe)) continue;
    taken.add(safe);
    safeNames.set(name, safe);
  }
  return safeNames;
}
