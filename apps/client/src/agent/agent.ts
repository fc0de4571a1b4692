import { DisposeStack, type Logger } from "@outrider/foundation";
import type { HttpServer } from "../http/index.ts";
import type { NodeClient } from "../node/index.ts";
import type { EmbeddedServer } from "../server/index.ts";

/** How an agent ends. Tasks always go on running: jobs are ended through the API, by whoever wants that. */
export interface StopOptions {
  readonly leaveTasks: true;
}

/** A running agent: server, node and API in one process. */
export interface Agent extends AsyncDisposable {
  /** Listens, restores and registers. Rejects, with everything released again, when any of it fails. */
  start(): Promise<void>;
  /** Resolves when the node is registered and the server's first wishes were carried out; rejects when the start failed. */
  readonly ready: Promise<void>;
  /** Ends the agent. Idempotent. */
  stop(o?: StopOptions): Promise<void>;
  /** `address`: for clients; known after {@link Agent.start}. */
  readonly http: { readonly address: string; readonly port: number };
  readonly nodeId: string;
  readonly server: EmbeddedServer;
}

/** What the composition root hands over. */
export interface AgentParts {
  readonly logger: Logger;
  readonly stack: DisposeStack;
  readonly http: HttpServer;
  readonly server: EmbeddedServer;
  readonly nodeId: string;
  /** Makes and starts the node, once the API's address is known. */
  readonly startNode: () => Promise<NodeClient>;
}

/** Ties the parts to one life. */
export class RunningAgent implements Agent {
  readonly ready: Promise<void>;
  readonly server: EmbeddedServer;
  readonly nodeId: string;
  readonly #parts: AgentParts;
  #node: NodeClient | undefined;
  #stopped: Promise<void> | undefined;
  #started: Promise<void> | undefined;
  #setReady: () => void = () => undefined;
  #failReady: (reason: unknown) => void = () => undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.server = parts.server;
    this.nodeId = parts.nodeId;
    this.ready = new Promise<void>((resolve, reject) => {
      this.#setReady = resolve;
      this.#failReady = reject;
    });
    // A start that fails is told by start() itself; nobody has to listen here too.
    this.ready.catch(() => undefined);
  }

  get http(): { readonly address: string; readonly port: number } {
    return { address: this.#parts.http.address, port: this.#parts.http.port };
  }

  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  stop(_o?: StopOptions): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(): Promise<void> {
    const { http, server, logger } = this.#parts;
    try {
      await http.listen();
      server.start();
      this.#node = await this.#parts.startNode();
      logger.info({ address: http.address, nodeId: this.nodeId }, "agent is running");
      void this.#node.serversContacted.then(this.#setReady);
    } catch (reason) {
      this.#failReady(reason);
      await this.stop().catch((again: unknown) =>
        logger.error({ err: again }, "cleaning up after a failed start failed"),
      );
      throw reason;
    }
  }

  /** Waiting clients first, then the node, which reports once more, then what it stands on. */
  async #stop(): Promise<void> {
    const { http, server, stack, logger } = this.#parts;
    this.#failReady(new DOMException("the agent was stopped", "AbortError"));
    logger.debug("agent stops; tasks go on running");
    const end = new DisposeStack();
    end.defer(() => stack[Symbol.asyncDispose]());
    end.use(server);
    end.defer(() => this.#node?.stop());
    end.defer(() => http.close());
    await end[Symbol.asyncDispose]();
  }
}
