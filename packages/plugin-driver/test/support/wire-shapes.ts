import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";

export { CPUUsageSchema, FingerprintResponseSchema, TaskStatsSchema } from "../../src/gen/driver_pb.js";
export const TimestampProbe = create(TimestampSchema, { seconds: 1n });
