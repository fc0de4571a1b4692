import { describe, it } from "vitest";
import { allocDirConformance } from "../../src/conformance/index.ts";
import { local, memory } from "./subjects.ts";

allocDirConformance({ describe, it }, memory, { others: [local] });
