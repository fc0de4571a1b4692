import { readFileSync } from "node:fs";

export interface Vector {
  readonly id: string;
  readonly zone: string;
  readonly start: string;
  readonly end: string;
  readonly options: { readonly overnight?: boolean; readonly dialect?: "extended" };
  readonly now: string;
  readonly rule: string;
  readonly expect: { readonly inWindow: boolean; readonly nextStart: string | null; readonly nextEnd: string | null };
}

export interface ErrorVector {
  readonly id: string;
  readonly zone: string;
  readonly start: string;
  readonly end: string;
  readonly options: { readonly overnight?: boolean; readonly dialect?: "extended" };
  readonly expect: { readonly error: string };
}

export const { vectors, errors } = JSON.parse(
  readFileSync(new URL("./fixtures/cron-schedule.json", import.meta.url), "utf8"),
) as { readonly vectors: readonly Vector[]; readonly errors: readonly ErrorVector[] };

/** `2026-06-10T09:00:00Z`, as the vectors write instants. */
export const iso = (date: Date | null): string | null => date?.toISOString().replace(".000Z", "Z") ?? null;
