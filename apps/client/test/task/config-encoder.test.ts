import type { HclSpec } from "@outrider/plugin-driver";
import { expect, it, vi } from "vitest";
import { createConfigEncoder } from "../../src/task/driver/config-encoder.ts";

const schema = (): HclSpec => ({ kind: "object", attributes: {} });
const encode = vi.fn((_schema: HclSpec, config: object, variables: object) =>
  Buffer.from(JSON.stringify([config, variables])),
);

it("encodes a block without variables once for each schema, and asks for no variables", () => {
  const encoder = createConfigEncoder(encode.mockClear());
  const variables = vi.fn(() => ({}));
  const [one, other] = [schema(), schema()];
  const first = encoder(one, { command: "a" }, variables);
  expect(encoder(one, { command: "a" }, variables)).toEqual(first);
  expect(encode).toHaveBeenCalledTimes(1);
  encoder(other, { command: "a" }, variables);
  encoder(one, { command: "b" }, variables);
  expect(encode).toHaveBeenCalledTimes(3);
  expect(variables).not.toHaveBeenCalled();
});

it.each(["${A}", "%{ if true }x%{ endif }"])("evaluates %s anew for each task", (text) => {
  const encoder = createConfigEncoder(encode.mockClear());
  const one = schema();
  expect(encoder(one, { command: text }, () => ({ A: 1 })).toString()).toContain('{"A":1}');
  expect(encoder(one, { command: text }, () => ({ A: 2 })).toString()).toContain('{"A":2}');
});

it("keeps no more than some hundred blocks, and none that was refused", () => {
  const encoder = createConfigEncoder(encode.mockClear());
  const one = schema();
  for (let i = 0; i < 300; i++) encoder(one, { i }, () => ({}));
  encoder(one, { i: 299 }, () => ({}));
  expect(encode).toHaveBeenCalledTimes(300);
  encoder(one, { i: 0 }, () => ({}));
  expect(encode).toHaveBeenCalledTimes(301);
  const refusing = createConfigEncoder(() => {
    throw new Error("no such key");
  });
  for (let i = 0; i < 2; i++) expect(() => refusing(one, {}, () => ({}))).toThrow("no such key");
});
