/** The glue between protobuf service descriptors and grpc-js: raw definitions with our own (de)serialisers. */
import { fromBinary, type DescMessage, type DescMethod, type DescService, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";

const serializer =
  (schema: DescMessage) =>
  (message: unknown): Buffer => {
    const bytes = toBinary(schema, message as never);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
const deserializer =
  (schema: DescMessage) =>
  (bytes: Uint8Array): unknown =>
    // A plain view: bytes fields are slices of it, and a Buffer would show as another kind of object.
    fromBinary(schema, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));

/** `/package.Service/Method`. */
export const methodPath = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** How one side writes and reads the messages of one method. */
export interface MethodCodec {
  readonly path: string;
  readonly serialize: (message: unknown) => Buffer;
  readonly deserialize: (bytes: Uint8Array) => unknown;
}

const clientMethods = new WeakMap<DescMethod, MethodCodec>();
const serverMethods = new WeakMap<DescMethod, MethodCodec>();

/** For the side that asks. */
export function clientMethod(method: DescMethod): MethodCodec {
  return codecOf(clientMethods, method, method.input, method.output);
}

/** For the side that answers. */
export function serverMethod(method: DescMethod): MethodCodec {
  return codecOf(serverMethods, method, method.output, method.input);
}

function codecOf(
  known: WeakMap<DescMethod, MethodCodec>,
  method: DescMethod,
  written: DescMessage,
  read: DescMessage,
): MethodCodec {
  let codec = known.get(method);
  if (codec === undefined) {
    codec = { path: methodPath(method), serialize: serializer(written), deserialize: deserializer(read) };
    known.set(method, codec);
  }
  return codec;
}

/** Definition of a whole service for a grpc-js server, keyed by the local method names. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  const out: Record<string, MethodDefinition<unknown, unknown>> = {};
  for (const method of service.methods) {
    out[method.localName] = {
      path: methodPath(method),
      requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
      responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
      requestSerialize: serializer(method.input),
      requestDeserialize: deserializer(method.input),
      responseSerialize: serializer(method.output),
      responseDeserialize: deserializer(method.output),
    };
  }
  return out;
}
