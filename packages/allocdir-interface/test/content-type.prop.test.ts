import fc from "fast-check";
import { expect, it } from "vitest";
import { sniffContentType } from "../src/content-type.ts";

const of = (head: string | number[], name = "f"): string =>
  sniffContentType(name, typeof head === "string" ? Buffer.from(head, "latin1") : Uint8Array.from(head));

it.each([
  ["  <!DOCTYPE HTML>", "text/html; charset=utf-8"],
  ["<h1 x", "text/html; charset=utf-8"],
  ["<h1x", "text/plain; charset=utf-8"],
  ["\n<?xml", "text/xml; charset=utf-8"],
  ["%PDF-1.7", "application/pdf"],
  ["RIFF1234WEBPVP8", "image/webp"],
  ["RIFF1234WAVE", "audio/wave"],
  ["\x1f\x8b\x08", "application/x-gzip"],
  ["PK\x03\x04", "application/zip"],
  ["\0asm", "application/wasm"],
  ["\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00mp41", "video/mp4"],
  ["\x00\x00\x00\x14ftypxxxx\x00\x00\x00\x00yyyy", "application/octet-stream"],
  ["\x00\x00\x00\x13ftypmp42aaa", "application/octet-stream"],
  ["plain words", "text/plain; charset=utf-8"],
  ["a\x01b", "application/octet-stream"],
  ["", "application/octet-stream"],
])("sniffs %j as %s", (head, type) => expect(of(head)).toBe(type));

it("goes by the name for JSON alone", () => expect(of("<html>", "x.json")).toBe("application/json"));

it("gives a type for any bytes", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => sniffContentType("f", bytes).includes("/")));
});
