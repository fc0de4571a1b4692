// node fresh.mjs <ours|peer> <module> <file>: prints what importing the module and a first parse of the file cost.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [side, target, file] = process.argv.slice(2);
const text = readFileSync(file, "utf8");
// Everything that node itself loads for the two ways of importing comes before the measurement.
const require = createRequire(import.meta.url);
const address = side === "ours" ? pathToFileURL(target).href : require.resolve(target);
await import("./nothing.mjs");
const start = performance.now();
const before = process.memoryUsage().rss;
if (side === "ours") (await import(address)).parse(text);
else await require(address).parse("f.hcl", text);
const ms = performance.now() - start;
const { rss } = process.memoryUsage();
process.stdout.write(JSON.stringify({ ms, mb: (rss - before) / 1e6 }), () => process.exit(0));
