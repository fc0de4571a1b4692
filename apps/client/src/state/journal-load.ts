import { OutriderError, type Logger } from "@outrider/foundation";
import { applyBatch, batchFromJson } from "./journal-batch.ts";
import { JOURNAL_FORMAT, scanJournal } from "./journal-format.ts";
import type { JournalFs } from "./journal-fs.ts";

/** A damaged place of a journal. */
export interface QuarantinedRecord {
  readonly offset: number;
  readonly reason: string;
}

/** What was read at start. */
export interface LoadedJournal {
  readonly map: Map<string, string>;
  readonly quarantined: readonly QuarantinedRecord[];
  /** Bytes of the file that are good; the rest is cut. Zero: there is no usable file, write a new one. */
  readonly goodEnd: number;
  /** The file must be written anew before anything is appended. */
  readonly rewrite: boolean;
}

/** Reads a journal. Damage (not a torn tail) is copied aside, and everything that still checks is kept. */
export async function loadJournal(path: string, fs: JournalFs, logger: Logger): Promise<LoadedJournal> {
  const map = new Map<string, string>();
  await fs.remove(`${path}.new`);
  const bytes = await fs.read(path);
  if (bytes === undefined) return { map, quarantined: [], goodEnd: 0, rewrite: true };

  const scan = scanJournal(bytes);
  const quarantined: QuarantinedRecord[] = [...scan.damage];
  const [head, ...rest] = scan.records;
  if (head === undefined) {
    quarantined.push({ offset: 0, reason: bytes.length === 0 ? "file is empty" : "no readable record" });
  }
  for (const record of head === undefined ? [] : [head, ...rest]) {
    const value = parse(record.payload);
    if (isHeader(value)) {
      if (value.format > JOURNAL_FORMAT) throw newer(path, value.format);
    } else if (Array.isArray(value)) {
      for (const batch of value) applyBatch(map, batchFromJson(batch));
    } else {
      quarantined.push({ offset: record.offset, reason: "record is neither a header nor a list of changes" });
    }
  }
  if (quarantined.length > 0) {
    const aside = await setAside(path, fs);
    logger.error(
      { path, aside, quarantined, kept: map.size },
      "state journal is damaged: the file was kept aside, readable records were salvaged",
    );
  } else if (scan.tornBytes > 0) {
    logger.warn({ path, bytes: scan.tornBytes }, "state journal ended in a torn write, which was cut off");
  }
  return { map, quarantined, goodEnd: scan.goodEnd, rewrite: quarantined.length > 0 };
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload) as unknown;
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is { format: number } {
  return typeof value === "object" && value !== null && typeof (value as { format?: unknown }).format === "number";
}

function newer(path: string, format: number): OutriderError {
  return new OutriderError(
    "ERR_OUTRIDER_STATE_NEWER",
    `state: ${path} has format ${format}, this version reads up to ${JOURNAL_FORMAT}; use the newer Outrider that wrote it`,
    { details: { path, format, supported: JOURNAL_FORMAT } },
  );
}

async function setAside(path: string, fs: JournalFs): Promise<string> {
  for (let n = 0; ; n++) {
    const aside = `${path}.damaged-${n}`;
    if ((await fs.read(aside)) === undefined) {
      await fs.copy(path, aside);
      return aside;
    }
  }
}
