// Imported first by fresh.mjs, so that what the module loader itself needs is not counted.
export const nothing = undefined;
