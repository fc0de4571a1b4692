/** The driver services' messages on a transport of the caller's own. */

/**
 * The host's end of a transport: carries requests and answers as the bytes of Nomad's protobuf messages, and failures as the errors of this
 * package. `path` is `/package.Service/Method`. When the plugin is gone every call rejects with `PluginShutdownError`.
 * @public
 */
export interface MessageCarrier {
  call(
    path: string,
    request: Uint8Array,
    o: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number | undefined },
  ): Promise<Uint8Array>;
  /** A stream of answers, opened by its first `next()`. `input` is what the host sends meanwhile; its iterator is returned at the end. */
  stream(
    path: string,
    request: Uint8Array,
    signal: AbortSignal,
    input?: AsyncIterable<Uint8Array>,
  ): AsyncIterable<Uint8Array>;
}

/**
 * The driver's end: each method of the base and driver services by its path. The signal aborts when the host goes away or cancels.
 * @public
 */
export interface MessageHandlers {
  readonly calls: Readonly<Record<string, (request: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>>>;
  readonly streams: Readonly<
    Record<
      string,
      (request: Uint8Array, signal: AbortSignal, input: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
    >
  >;
}
