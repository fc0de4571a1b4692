import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answerBrokenRequest, describeParserError, toPathError } from "../../src/http/broken-request.ts";
import { ServerHarness } from "../server/harness.ts";
import { HttpHarness } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
beforeEach(async () => {
  h = await new ServerHarness().start();
  api = new HttpHarness(h);
  await api.http.listen();
});
afterEach(() => api.close());

interface Raw {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Sends bytes as they are and reads until the server closes. */
function raw(text: string): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.http.port, "127.0.0.1", () => socket.end(text));
    let answer = "";
    socket.on("data", (chunk) => (answer += String(chunk)));
    socket.once("error", reject);
    socket.once("close", () => {
      const [head = "", body = ""] = answer.split("\r\n\r\n");
      resolve({
        status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
        type: /content-type: (.*)/i.exec(head)?.[1] ?? "",
        body,
      });
    });
  });
}

const HEAD = "Host: localhost\r\nConnection: close\r\n";
const PLAIN = "text/plain; charset=utf-8";

describe("requests that are none", () => {
  it.each([
    [
      "a path that is not validly encoded",
      "GET /v1/job/%zz HTTP/1.1",
      400,
      "400 Bad Request: the path is not validly encoded",
    ],
    ["a path that is not UTF-8", "GET /v1/job/%ff HTTP/1.1", 400, "400 Bad Request: the path is not validly encoded"],
    ["no HTTP at all", "garbage", 400, "400 Bad Request: Invalid method encountered"],
    [
      "a version from the future",
      "GET /v1/jobs HTTP/9.9",
      505,
      "505 HTTP Version Not Supported: this server speaks HTTP/1.1",
    ],
    ["a method that nobody knows", "FOO /v1/jobs HTTP/1.1", 405, "Invalid method"],
    ["a method that no resource has", "TRACE /v1/jobs HTTP/1.1", 405, "Invalid method"],
    ["a tunnel", "CONNECT localhost:1 HTTP/1.1", 405, "Invalid method"],
    [
      "a part of the path that is too long",
      `GET /v1/allocation/${"a".repeat(2000)} HTTP/1.1`,
      414,
      "a part of the path is too long",
    ],
  ])("get a status and plain text: %s", async (_, line, status, body) => {
    expect(await raw(`${line}\r\n${HEAD}\r\n`)).toEqual({ status, type: PLAIN, body });
  });

  it.each([
    ["a header without a name", "X y: a\r\n", 400, "400 Bad Request: Invalid header token"],
    [
      "a length that is no number",
      "Content-Length: x\r\n",
      400,
      "400 Bad Request: Invalid character in Content-Length",
    ],
    [
      "two lengths",
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      400,
      "400 Bad Request: Transfer-Encoding can't be present with Content-Length",
    ],
    ["headers of more than 64 KiB", `X: ${"x".repeat(70_000)}\r\n`, 431, "431 Request Header Fields Too Large"],
    ["headers of megabytes", `X: ${"x".repeat(2_000_000)}\r\n`, 431, "431 Request Header Fields Too Large"],
  ])("get plain text for %s", async (_, header, status, body) => {
    expect(await raw(`PUT /v1/jobs HTTP/1.1\r\n${HEAD}${header}\r\n`)).toEqual({ status, type: PLAIN, body });
  });

  it("get plain text for a body whose chunks are broken", async () => {
    const { status, type } = await raw(`PUT /v1/jobs HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`);
    expect([status, type]).toEqual([400, PLAIN]);
  });

  it("get plain text without a host", async () => {
    expect(await raw("GET /v1/jobs HTTP/1.1\r\nConnection: close\r\n\r\n")).toEqual({
      status: 400,
      type: PLAIN,
      body: "request has no Host",
    });
  });

  it("do not keep others from being served", async () => {
    await Promise.all(Array.from({ length: 20 }, () => raw("garbage\r\n\r\n")));
    expect((await raw(`GET /v1/regions HTTP/1.1\r\n${HEAD}\r\n`)).status).toBe(200);
  });
});

describe("a path with doubled slashes", () => {
  it("is the path with single ones: addresses often end with one", async () => {
    expect((await raw(`GET //v1//regions HTTP/1.1\r\n${HEAD}\r\n`)).status).toBe(200);
  });
});

describe("failures of the parser", () => {
  it.each([
    ["ERR_HTTP_REQUEST_TIMEOUT", 408],
    ["HPE_CHUNK_EXTENSIONS_OVERFLOW", 413],
    ["ERR_SOMETHING", 400],
  ])("%s gives %i", (code, status) => {
    const described = describeParserError({ code, reason: "not shown" });
    expect(described.status).toBe(status);
    expect(described.message).not.toContain("not shown");
  });

  it("of the framework keep their status and tell nothing else", () => {
    expect(toPathError({ code: "FST_ERR_ASYNC_CONSTRAINT" })).toMatchObject({ status: 500 });
    expect(toPathError({ code: "FST_ERR_OTHER", statusCode: 418 })).toMatchObject({ status: 418 });
  });
});

describe("a connection that is answered without a request", () => {
  async function pair(): Promise<{ client: Socket; server: Socket; close: () => void }> {
    const listener = createServer({ allowHalfOpen: true });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const client = connect((listener.address() as { port: number }).port, "127.0.0.1");
    const [server] = (await once(listener, "connection")) as [Socket];
    client.on("error", () => undefined);
    return { client, server, close: () => void listener.close() };
  }

  it("is cut when half an answer is on its way, or the client is gone", async () => {
    for (const [code, sent] of [
      ["HPE_INVALID_METHOD", true],
      ["ECONNRESET", false],
    ] as const) {
      const { client, server, close } = await pair();
      Object.assign(server, { _httpMessage: { headersSent: sent } });
      let text = "";
      client.on("data", (chunk) => (text += String(chunk)));
      answerBrokenRequest({ code }, server);
      await once(client, "close");
      expect(text).toBe("");
      close();
    }
  });

  it("is read for a while, so that the answer arrives, but not for ever", async () => {
    const { client, server, close } = await pair();
    const gone = once(server, "close");
    answerBrokenRequest({ code: "HPE_HEADER_OVERFLOW" }, server);
    const chunk = Buffer.alloc(256 * 1024);
    for (let i = 0; i < 40 && !server.destroyed; i++) {
      client.write(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await gone;
    client.destroy();
    close();
  });
});
