// node scripts/terminal-picture.mjs: draws docs/terminal.txt as docs/terminal.svg, the picture of the README.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (name) => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
const lines = readFileSync(at("terminal.txt"), "utf8").trimEnd().split("\n");
const escape = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
const width = Math.max(...lines.map((l) => l.length)) * 7.8 + 40;
const height = lines.length * 19 + 56;
const rows = lines.map(
  (line, i) =>
    `<text x="20" y="${56 + i * 19}" class="${line.startsWith("$") ? "p" : "t"}" xml:space="preserve">${escape(line)}</text>`,
);
writeFileSync(
  at("terminal.svg"),
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Outrider in a terminal">
<!-- made by scripts/terminal-picture.mjs from docs/terminal.txt -->
<style>text{font:13px ui-monospace,Menlo,Consolas,monospace}.t{fill:#d7dae0}.p{fill:#8fd0a8}</style>
<rect width="100%" height="100%" rx="8" fill="#1d2127"/>
<circle cx="22" cy="20" r="5.5" fill="#ed6a5e"/><circle cx="40" cy="20" r="5.5" fill="#f4be4f"/><circle cx="58" cy="20" r="5.5" fill="#61c554"/>
${rows.join("\n")}
</svg>
`,
);
