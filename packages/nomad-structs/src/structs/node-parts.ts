import { bool, int, list, map, omitted, ref, refs, struct, uint, type Infer } from "../dsl/field.ts";

const coreFields = {
  SocketID: uint(8),
  NodeID: uint(8),
  ID: uint(16),
  /** True for a performance core. */
  Grade: bool(),
  Disable: bool(),
  /** MHz; the first of base, maximum and guess that is not 0 counts. */
  BaseSpeed: uint(),
  MaxSpeed: uint(),
  GuessSpeed: uint(),
};
/** A core of a node. @public */
export interface NumaCore extends Infer<typeof coreFields> {}
/** The description of {@link NumaCore}. @public */
export const NumaCoreStruct = struct<NumaCore>("NumaCore", coreFields);

const topologyFields = {
  Nodes: list(uint(8)),
  Distances: list(list(uint(8))),
  Cores: refs(NumaCoreStruct),
  BusAssociativity: omitted(map(uint(8))),
  OverrideTotalCompute: uint(),
  /** Spelled so on the wire. */
  OverrideWitholdCompute: uint(),
};
/** Cores and memory nodes of a machine. @public */
export interface NumaTopology extends Infer<typeof topologyFields> {}
/** The description of {@link NumaTopology}. @public */
export const NumaTopologyStruct = struct<NumaTopology>("NumaTopology", topologyFields);

const processorFields = { Topology: ref(NumaTopologyStruct) };
/** Processors of a node. @public */
export interface NodeProcessorResources extends Infer<typeof processorFields> {}
/** The description of {@link NodeProcessorResources}. @public */
export const NodeProcessorResourcesStruct = struct<NodeProcessorResources>("NodeProcessorResources", processorFields);

const memoryFields = { MemoryMB: int() };
/** Memory of a node. @public */
export interface NodeMemoryResources extends Infer<typeof memoryFields> {}
/** The description of {@link NodeMemoryResources}. @public */
export const NodeMemoryResourcesStruct = struct<NodeMemoryResources>("NodeMemoryResources", memoryFields);

const diskFields = { DiskMB: int() };
/** Disk of a node. @public */
export interface NodeDiskResources extends Infer<typeof diskFields> {}
/** The description of {@link NodeDiskResources}. @public */
export const NodeDiskResourcesStruct = struct<NodeDiskResources>("NodeDiskResources", diskFields);
