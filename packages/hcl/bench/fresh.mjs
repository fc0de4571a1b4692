// node fresh.mjs <ours|peer> <module> <file>: prints what importing the module and a first parse of the file cost.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [side, target, file] = process.argv.slice(2);
const text = readFileSync(file, "utf8");
await import("./nothing.mjs");
const before = process.memoryUsage().rss;
const start = performance.now();
if (side === "ours") (await import(pathToFileURL(target).href)).parse(text);
else await createRequire(import.meta.url)(target).parse("f.hcl", text);
const ms = performance.now() - start;
process.stdout.write(JSON.stringify({ ms, mb: (process.memoryUsage().rss - before) / 1e6 }), () => process.exit(0));
