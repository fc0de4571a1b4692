import { type BodySpec, bool, int, str, strings } from "../block-spec.ts";
import { affinity, constraint, network } from "./shared.ts";

const device: BodySpec = {
  attributes: { count: int("Count") },
  blocks: {
    constraint: { body: constraint, key: "Constraints", many: true },
    affinity: { body: affinity, key: "Affinities", many: true },
  },
  zero: (label) => ({ Name: label ?? "", Count: null, Constraints: null, Affinities: null }),
};

const numa: BodySpec = {
  attributes: { affinity: str("Affinity"), devices: strings("Devices") },
  blocks: {},
  zero: () => ({ Affinity: "", Devices: null }),
};

/** The `resources` block. */
export const resources: BodySpec = {
  attributes: {
    cpu: int("CPU"),
    cores: int("Cores"),
    memory: int("MemoryMB"),
    memory_max: int("MemoryMaxMB"),
    disk: int("DiskMB"),
    secrets: int("SecretsMB"),
    iops: int("IOPS"),
  },
  blocks: {
    network: { body: network, key: "Networks", many: true },
    device: { body: device, key: "Devices", many: true, label: "name" },
    numa: { body: numa, key: "NUMA" },
  },
  zero: () => ({
    CPU: null,
    Cores: null,
    MemoryMB: null,
    MemoryMaxMB: null,
    DiskMB: null,
    Networks: null,
    Devices: null,
    NUMA: null,
    SecretsMB: null,
    IOPS: null,
  }),
};

/** The `logs` block. */
export const taskLogs: BodySpec = {
  attributes: {
    max_files: int("MaxFiles"),
    max_file_size: int("MaxFileSizeMB"),
    enabled: bool("Enabled"),
    disabled: bool("Disabled"),
  },
  blocks: {},
  zero: () => ({ MaxFiles: null, MaxFileSizeMB: null, Enabled: null, Disabled: null }),
};
