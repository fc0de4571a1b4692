import { describe, it } from "vitest";
import { allocDirConformance } from "../../src/conformance/index.ts";
import { othersOf, realDirs } from "./subjects.ts";

// Files are read by the same code as in the local layout: all cases run with the end-to-end tests.
const groups = ["build", "path", "secrets", "unveil", "destroy", "unmount", "errors", "move", "cross"];
allocDirConformance({ describe, it }, realDirs, { others: othersOf(realDirs), groups });
