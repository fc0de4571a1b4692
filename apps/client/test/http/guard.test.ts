import { describe, expect, it } from "vitest";
import { guardRequest } from "../../src/http/request-guard.ts";

const open = { unixSocket: false, allowedHosts: [] as string[], token: undefined as string | undefined };
const own = { host: "127.0.0.1:4646" };
const request = (
  headers: Record<string, string>,
  method = "GET",
  url = "/v1/jobs",
): { method: string; url: string; headers: Record<string, string> } => ({ method, url, headers });
const status = (headers: Record<string, string>, o: Partial<typeof open> = {}, method = "GET"): number => {
  try {
    guardRequest(request(headers, method), { ...open, ...o });
    return 200;
  } catch (reason) {
    return (reason as { status: number }).status;
  }
};

describe("requests of foreign web pages", () => {
  it.each([
    ["its own address", own, 200],
    ["localhost", { host: "localhost:4646" }, 200],
    ["localhost in capitals with a dot", { host: "LocalHost.:4646" }, 200],
    ["IPv6 loopback", { host: "[::1]:4646" }, 200],
    ["no port", { host: "127.0.0.1" }, 200],
    ["a name that resolves to loopback (DNS rebinding)", { host: "evil.example:4646" }, 403],
    ["another address", { host: "10.0.0.1:4646" }, 403],
    ["a name that begins like loopback", { host: "127.0.0.1.evil.example" }, 403],
    ["no host", {}, 400],
    ["an empty host", { host: "" }, 400],
    ["a foreign origin", { ...own, origin: "https://evil.example" }, 403],
    ["a sandboxed page", { ...own, origin: "null" }, 403],
    ["the own origin", { ...own, origin: "http://127.0.0.1:4646" }, 200],
    ["the own origin over a proxy", { ...own, origin: "https://127.0.0.1:4646" }, 200],
    ["another port of this machine", { ...own, origin: "http://127.0.0.1:3000" }, 403],
    ["a cross-site fetch", { ...own, "sec-fetch-site": "cross-site" }, 403],
    ["a same-site fetch", { ...own, "sec-fetch-site": "same-site" }, 403],
    ["a typed address", { ...own, "sec-fetch-site": "none" }, 200],
    ["the own page", { ...own, "sec-fetch-site": "same-origin" }, 200],
  ])("%s", (_name, headers, expected) => expect(status(headers as Record<string, string>)).toBe(expected));

  it("cannot change anything through an old browser that only says Referer", () => {
    expect(status({ ...own, referer: "http://evil.example/x" }, {}, "POST")).toBe(403);
    expect(status({ ...own, referer: "not a url" }, {}, "POST")).toBe(403);
    expect(status({ ...own, referer: "http://127.0.0.1:4646/ui" }, {}, "POST")).toBe(200);
    expect(status({ ...own, referer: "http://evil.example/x" })).toBe(200);
  });

  it("are refused on a unix socket too, where the name of the host means nothing", () => {
    expect(status({}, { unixSocket: true })).toBe(200);
    expect(status({ host: "anything" }, { unixSocket: true })).toBe(200);
    expect(status({ host: "x", origin: "http://evil.example" }, { unixSocket: true })).toBe(403);
  });

  it("need the token when there is one, by either header", () => {
    const token = "0123456789abcdef";
    expect(status(own, { token })).toBe(403);
    expect(status({ ...own, "x-nomad-token": "wrong" }, { token })).toBe(403);
    expect(status({ ...own, "x-nomad-token": token }, { token })).toBe(200);
    expect(status({ ...own, authorization: `Bearer ${token}` }, { token })).toBe(200);
    expect(status({ host: "10.0.0.1:4646", "x-nomad-token": token }, { token })).toBe(200);
    expect(status({ host: "evil.example", "x-nomad-token": token }, { token })).toBe(403);
    expect(status({ host: "node.example", "x-nomad-token": token }, { token, allowedHosts: ["node.example"] })).toBe(
      200,
    );
  });
});

describe("the token of a disk", () => {
  const id = "0a1b2c3d-0000-4000-8000-00000000abcd";
  const o = {
    ...open,
    token: "agent",
    isDiskToken: (alloc: string, token: string) => alloc === id && token === "disk",
  };
  const answer = (url: string, token: string | undefined, method = "GET"): number => {
    try {
      guardRequest(request({ ...own, ...(token === undefined ? {} : { "x-nomad-token": token }) }, method, url), o);
      return 200;
    } catch (reason) {
      return (reason as { status: number }).status;
    }
  };

  it("opens the snapshot of its allocation, and nothing else", () => {
    const path = `/v1/client/allocation/${id}/snapshot`;
    expect([answer(path, "disk"), answer(`${path}?x=1`, "disk"), answer(path, "agent")]).toEqual([200, 200, 200]);
    expect([answer(path, "other"), answer(path, undefined), answer(path, "disk", "PUT")]).toEqual([403, 403, 403]);
    for (const url of [
      `${path}/x`,
      `/v1/client/allocation/${id}/stats`,
      "/v1/jobs",
      path.replace("0a", "0b"),
      `/x${path}`,
    ])
      expect(answer(url, "disk")).toBe(403);
  });
});
