import type { BigIntStats } from "node:fs";

/** What a mode's words are made from. */
export type ModeStats = Pick<
  BigIntStats,
  "mode" | "isDirectory" | "isSymbolicLink" | "isBlockDevice" | "isCharacterDevice" | "isFIFO" | "isSocket"
>;

/** A mode as Go writes it: type letters, special bits, nine permission letters. */
export function fileMode(stats: ModeStats): string {
  const mode = Number(stats.mode);
  let text = "";
  if (stats.isDirectory()) text += "d";
  if (stats.isSymbolicLink()) text += "L";
  if (stats.isBlockDevice() || stats.isCharacterDevice()) text += "D";
  if (stats.isFIFO()) text += "p";
  if (stats.isSocket()) text += "S";
  if (mode & 0o4000) text += "u";
  if (mode & 0o2000) text += "g";
  if (stats.isCharacterDevice()) text += "c";
  if (mode & 0o1000) text += "t";
  if (text === "") text = "-";
  for (let bit = 8; bit >= 0; bit--) text += mode & (1 << bit) ? "rwx"[(8 - bit) % 3] : "-";
  return text;
}

/** A time in ns as RFC 3339 with as many fractional digits as it has. */
export function modTime(ns: bigint): string {
  const seconds = ns / 1_000_000_000n;
  const fraction = (ns % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  const head = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${head}${fraction === "" ? "" : `.${fraction}`}Z`;
}
