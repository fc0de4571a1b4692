/** Recorded calls of a real agent and of a real Go driver. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMethod, type DescService, fromBinary, type Message } from "@bufbuild/protobuf";
import { BasePlugin } from "../../src/gen/base_pb.js";
import { Driver } from "../../src/gen/driver_pb.js";
import { GRPCBroker, GRPCController, GRPCStdio } from "../../src/gen/go_plugin_pb.js";
import { Health } from "../../src/gen/health_pb.js";

const FOLDER = join(import.meta.dirname, "../fixtures/captures");
export const SERVICES: readonly DescService[] = [BasePlugin, Driver, GRPCBroker, GRPCController, GRPCStdio, Health];

export interface CapturedCall {
  readonly file: string;
  readonly id: number;
  readonly pid?: number;
  readonly method: string;
  readonly requests: readonly { readonly hex: string }[];
  readonly responses: readonly { readonly hex: string }[];
  readonly status?: { readonly code: number; readonly message?: string; readonly detailsBinBase64?: readonly string[] };
}

export function capturedCalls(prefix: string): CapturedCall[] {
  return readdirSync(FOLDER)
    .filter((name) => name.startsWith(prefix))
    .sort()
    .flatMap((file) =>
      readFileSync(join(FOLDER, file), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => ({ ...(JSON.parse(line) as CapturedCall & { kind: string }), file })),
    )
    .filter((line) => line.kind === "call");
}

export function methodOf(call: CapturedCall): DescMethod {
  for (const service of SERVICES) {
    for (const method of service.methods) {
      if (`${service.typeName}/${method.name}` === call.method) return method;
    }
  }
  throw new Error(`no such method: ${call.method}`);
}

export const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
export const requestsOf = (call: CapturedCall): Message[] =>
  call.requests.map(({ hex }) => fromBinary(methodOf(call).input, bytesOf(hex)));
export const responsesOf = (call: CapturedCall): Message[] =>
  call.responses.map(({ hex }) => fromBinary(methodOf(call).output, bytesOf(hex)));
