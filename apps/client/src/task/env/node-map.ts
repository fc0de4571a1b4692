import type { Node } from "@outrider/nomad-structs";

/** What jobs may ask of their node: `${node.unique.id}`, `${attr.…}`, `${meta.…}` and so on. */
export function nodeMap(node: Node): Record<string, string> {
  const map: Record<string, string> = {
    "node.unique.id": node.ID,
    "node.unique.name": node.Name,
    "node.datacenter": node.Datacenter,
    "node.class": node.NodeClass,
    "node.pool": node.NodePool,
  };
  for (const [key, value] of Object.entries(node.Attributes ?? {})) map[`attr.${key}`] = value;
  for (const [key, value] of Object.entries(node.Meta ?? {})) map[`meta.${key}`] = value;
  return map;
}
