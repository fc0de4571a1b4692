import type { Node } from "@outrider/nomad-structs";

/** What jobs may ask of their node: `${node.unique.id}`, `${attr.…}`, `${meta.…}` and so on. */
export function nodeMap(node: Node, region: string): Readonly<Record<string, string>> {
  let map = MAPS.get(node);
  if (map?.["node.region"] !== region) {
    map = Object.freeze(makeMap(node, region));
    MAPS.set(node, map);
  }
  return map;
}

/** A node is replaced when it changes, and all its tasks ask. */
const MAPS = new WeakMap<Node, Readonly<Record<string, string>>>();

function makeMap(node: Node, region: string): Readonly<Record<string, string>> {
  const map: Record<string, string> = {
    "node.unique.id": node.ID,
    "node.unique.name": node.Name,
    "node.datacenter": node.Datacenter,
    "node.class": node.NodeClass,
    "node.pool": node.NodePool,
  };
  for (const [key, value] of Object.entries(node.Attributes ?? {})) map[`attr.${key}`] = value;
  for (const [key, value] of Object.entries(node.Meta ?? {})) map[`meta.${key}`] = value;
  map["node.region"] = region;
  return map;
}
