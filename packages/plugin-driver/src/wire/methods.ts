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
  (bytes: Buffer): unknown =>
    // A plain view: bytes fields are slices of it, and a Buffer would show as another kind of object.
    fromBinary(schema, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));

/** `/package.Service/Method`. */
export const methodPath = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** What a grpc-js client needs of one method. */
export interface ClientMethod {
  readonly path: string;
  readonly serialize: (message: unknown) => Buffer;
  readonly deserialize: (bytes: Buffer) => unknown;
}

const clientMethods = new WeakMap<DescMethod, ClientMethod>();

export function clientMethod(method: DescMethod): ClientMethod {
  let found = clientMethods.get(method);
  if (found === undefined) {
    found = {
      path: methodPath(method),
      serialize: serializer(method.input),
      deserialize: deserializer(method.output),
    };
    clientMethods.set(method, found);
  }
  return found;
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
