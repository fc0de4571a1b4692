import { createHash } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { blake2b512 } from "../../src/migrate/blake2b.ts";
import { fetchArchive, isMigrateToken, migrateToken } from "../../src/migrate/index.ts";
import { ALLOC_ID } from "../temp-alloc.ts";

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

async function serve(answer: (url: string, token: unknown, response: ServerResponse) => void): Promise<string> {
  server = createServer((request, response) => answer(request.url ?? "", request.headers["x-nomad-token"], response));
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const never = new AbortController().signal;

async function textOf(source: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const piece of source) parts.push(piece);
  return Buffer.concat(parts).toString();
}

describe("fetching a disk", () => {
  it("asks the node that has it, with its token", async () => {
    const address = await serve((url, token, response) => response.end(`${url} ${String(token)}`));
    const source = await fetchArchive({ address, allocId: ALLOC_ID, token: "t", signal: never });
    expect(await textOf(source)).toBe(`/v1/client/allocation/${ALLOC_ID}/snapshot t`);
    expect(await textOf(await fetchArchive({ address, allocId: ALLOC_ID, signal: never }))).toContain("undefined");
  });

  it("tells of a refusal in one line, of an address that is none, and of a node that is not there", async () => {
    const address = await serve((_url, _token, response) =>
      response.writeHead(403).end(`Permission\ndenied${"x".repeat(5000)}`),
    );
    await expect(fetchArchive({ address, allocId: ALLOC_ID, signal: never })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_FETCH",
      message: expect.stringMatching(/403 Permission deniedx+$/) as string,
      recoverable: false,
    });
    for (const bad of ["", "ftp://x", "http://"])
      await expect(fetchArchive({ address: bad, allocId: ALLOC_ID, signal: never })).rejects.toMatchObject({
        code: "ERR_OUTRIDER_ALLOCDIR_FETCH",
      });
    await expect(fetchArchive({ address, allocId: "../x", signal: never })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_BAD_NAME",
    });
    server?.close().closeAllConnections();
    await new Promise((resolve) => setImmediate(resolve));
    await expect(fetchArchive({ address, allocId: ALLOC_ID, signal: never })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_FETCH",
      recoverable: true,
    });
    await expect(
      fetchArchive({
        address: address.replace("http:", "https:"),
        allocId: ALLOC_ID,
        signal: never,
        tls: { servername: "client.global.nomad" },
      }),
    ).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_FETCH" });
  });

  it("tells of a refusal that breaks off", async () => {
    const address = await serve((_url, _token, response) => {
      response.writeHead(500, { "content-length": "100" });
      response.write("half");
      setImmediate(() => response.destroy());
    });
    await expect(fetchArchive({ address, allocId: ALLOC_ID, signal: never })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_FETCH",
    });
  });

  it("fails when the stream breaks off, and ends with its signal", async () => {
    const address = await serve((_url, _token, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    });
    const source = await fetchArchive({ address, allocId: ALLOC_ID, signal: never });
    await expect(textOf(source)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_FETCH", recoverable: true });
    server?.close();
    const hanging = await serve((_url, _token, response) => void response.writeHead(200).write("half"));
    const stop = new AbortController();
    const half = await fetchArchive({ address: hanging, allocId: ALLOC_ID, signal: stop.signal });
    const reading = textOf(half);
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    await expect(fetchArchive({ address: hanging, allocId: ALLOC_ID, signal: stop.signal })).rejects.toThrow("enough");
    server?.close().closeAllConnections();
    const silent = await serve(() => undefined);
    const later = new AbortController();
    const asking = fetchArchive({ address: silent, allocId: ALLOC_ID, signal: later.signal });
    setImmediate(() => later.abort(new Error("no more")));
    await expect(asking).rejects.toThrow("no more");
  });
});

describe("migrate tokens", () => {
  it("are keyed digests of the allocation's id in padded base64url", () => {
    const token = "CBJ4FXQwEZbSJWN422vRgOtBxyLc2YuLxp48ifFkEkTcu7E027ggVsc4qGa06RSJMVhlDRvDeO2ylCAqgmrEng==";
    const secret = "6f1d2c3b-aaaa-4bbb-8ccc-0123456789ab";
    expect(migrateToken(ALLOC_ID, secret)).toBe(token);
    expect(isMigrateToken(token, ALLOC_ID, secret)).toBe(true);
    for (const wrong of ["", token.slice(1), `${token}=`, token.replace("C", "D")])
      expect(isMigrateToken(wrong, ALLOC_ID, secret)).toBe(false);
  });

  it("come from a digest that agrees with the published vectors and, without a key, with the system's", () => {
    const key = Uint8Array.from({ length: 64 }, (_, i) => i);
    expect(blake2b512(new Uint8Array(0), key).toString("hex")).toBe(
      "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568",
    );
    expect(() => blake2b512(key, new Uint8Array(65))).toThrow(RangeError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (message) => {
        expect(blake2b512(message).equals(createHash("blake2b512").update(message).digest())).toBe(true);
      }),
      { numRuns: 50, examples: [[new Uint8Array(128)], [new Uint8Array(256)], [new Uint8Array(0)]] },
    );
  });
});
