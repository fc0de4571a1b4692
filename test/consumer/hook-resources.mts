import {
  createHookResources,
  HookResourcesError,
  type DeepReadonly,
  type HookResources,
} from "@outrider/hook-resources";
import { codeOf, equal } from "./assert.mjs";

interface Shape {
  mounts: Record<string, { source: string }>;
  tokens: Map<string, string>;
}

export async function hookResourcesUser(): Promise<void> {
  const store: HookResources<Shape> = createHookResources<Shape>({ mounts: {}, tokens: new Map() });
  const stop = store.onChange("mounts", (now, before) => equal(now === before, false));
  await store.update("mounts", async (mounts) => ({ ...mounts, a: { source: "/dev/sda" } }));
  stop[Symbol.dispose]();
  const mounts: DeepReadonly<Shape["mounts"]> = store.get("mounts");
  equal(mounts["a"]?.source, "/dev/sda");
  const wider = store.extend({ port: 0 });
  wider.set("port", 80);
  equal(wider.get("port"), 80);
  equal(
    codeOf(() => store.set("mounts", undefined as never)),
    "UNDEFINED",
  );
  equal(new HookResourcesError("UNKNOWN_KEY", "k", "m").recoverable, false);
  // @ts-expect-error what comes out is read-only
  const frozen = codeOf(() => store.get("tokens").set("a", "b"));
  equal(frozen, undefined);
  // @ts-expect-error keys are known
  const unknown = codeOf(() => store.get("nothing"));
  equal(unknown, "UNKNOWN_KEY");
}
