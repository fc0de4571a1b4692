/** Child of the kill −9 test: writes without pause and prints each number once it is acknowledged. */
import { openJournalStore } from "../../src/state/journal-store.ts";

const [dir = "", first = "0"] = process.argv.slice(2);
const store = await openJournalStore({ dir, compactAboveBytes: 20_000 });
for (let n = Number(first); ; n++) {
  const batch = Array.from({ length: 1 + (n % 5) }, (_, i) =>
    store.write({ put: { [`k${(n * 7 + i) % 50}`]: n, [`seen/${n}/${i}`]: 1 }, deletePrefix: [`seen/${n - 200}/`] }),
  );
  await Promise.all(batch);
  process.stdout.write(`${n}\n`);
}
