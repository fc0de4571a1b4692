import { describe, it } from "vitest";
import { allocDirConformance } from "../../src/conformance/index.ts";
import { othersOf, local } from "./subjects.ts";

allocDirConformance({ describe, it }, local, { others: othersOf(local) });
