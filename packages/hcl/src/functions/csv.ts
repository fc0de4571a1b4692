import { FunctionError } from "../eval-types.ts";
import type { Value } from "../value.ts";

/** Rows of a text of comma-separated values; quotes may hold commas, line ends and doubled quotes. */
const rows = (text: string): string[][] => {
  const out: string[][] = [];
  let row: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  while (cell.lastIndex < text.length || row.length > 0) {
    const match = cell.exec(text);
    if (match === null) throw new FunctionError(`line ${out.length + 1} has a stray quote`, 0);
    row.push(match[1] === undefined ? (match[2] as string) : match[1].replaceAll('""', '"'));
    if (match[3] === ",") continue;
    if (row.length > 1 || row[0] !== "") out.push(row);
    row = [];
    if (match[3] === "") break;
  }
  return out;
};

/** A list of objects whose attributes are named by the first row. */
export const decodeCsv = (text: string): Value => {
  const [header, ...records] = rows(text);
  if (header === undefined) throw new FunctionError("there is no header line", 0);
  const twice = header.find((name, i) => header.indexOf(name) !== i);
  if (twice !== undefined) throw new FunctionError(`the column ${JSON.stringify(twice)} is named twice`, 0);
  return records.map((record, i) => {
    if (record.length !== header.length)
      throw new FunctionError(`record ${i + 1} has ${record.length} columns, the header ${header.length}`, 0);
    return new Map(header.map((name, k) => [name, record[k] as string]));
  });
};
