/** Number of single-character edits between two short words, at most `limit` + 1. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, (row[j - 1] as number) + same));
    }
    row = next;
  }
  return row[b.length] as number;
}

/** ` Did you mean "x"?` when a known word is close, else nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const limit = word.length <= 4 ? 1 : 2;
  if (word.length > 40) return "";
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const d = distance(word, candidate, limit);
    if (d <= limit && (best === undefined || d < best.distance)) best = { word: candidate, distance: d };
  }
  return best === undefined ? "" : ` Did you mean "${best.word}"?`;
}
