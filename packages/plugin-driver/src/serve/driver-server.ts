/** What a server of a driver is and how it is asked for. */
import type { Server as NetServer } from "node:net";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";

/** Certificates of a server that speaks mutual TLS, in PEM. @internal */
export interface ServerTls {
  readonly certPem: string;
  readonly keyPem: string;
  /** The one client that may connect. */
  readonly clientCertPem: string;
}

/** Options of `createDriverServer`. @public */
export interface DriverServerOptions {
  /** Where to listen: a path of at most 107 bytes. A stale file there is removed. */
  readonly socketPath?: string;
  /** A server of the caller instead; it is neither bound nor closed here. */
  readonly listener?: NetServer;
  /** Called once after a host has asked the plugin to end and has its answer. By default the server closes. */
  readonly onShutdown?: () => void;
  /**
   * Holds the write ends of the task's output fifos while `startTask` runs (default true): a stock agent waits 4 s for fifos that
   * nobody opened. Off for a driver that makes the fifos itself.
   */
  readonly guardFifos?: boolean;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Called when hosts can connect; they are answered as soon as what speaks gRPC is loaded. @internal */
  readonly onListening?: () => void;
  /** TLS that only the holder of one certificate gets through. @internal */
  readonly tls?: ServerTls;
}

/** A running server. @public */
export interface DriverServer extends AsyncDisposable {
  readonly socketPath: string | undefined;
  /** Ends all connections and removes the socket file; idempotent. Tasks are not touched. */
  close(): Promise<void>;
}
