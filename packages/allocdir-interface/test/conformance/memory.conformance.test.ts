import { describe, it } from "vitest";
import { allocDirConformance } from "../../src/conformance/index.ts";
import { othersOf, memory } from "./subjects.ts";

allocDirConformance({ describe, it }, memory, { others: othersOf(memory) });
