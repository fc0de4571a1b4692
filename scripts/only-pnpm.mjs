// `npm install` at the root would lay a flat node_modules that hides undeclared imports.
if (!(process.env.npm_config_user_agent ?? "").startsWith("pnpm/")) {
  console.error("This workspace installs itself: run `npm start` or `npm test`, or `node scripts/pnpm.mjs install`.");
  process.exit(1);
}
