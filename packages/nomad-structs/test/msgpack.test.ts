import { Encoder } from "@msgpack/msgpack";
import { describe, expect, it } from "vitest";
import * as s from "../src/index.ts";
import { any, bytes, float, int, list, map, str, struct, time, uint, unixNano } from "../src/index.ts";

const hex = (data: Uint8Array): string => Buffer.from(data).toString("hex");
const fields = {
  T: time(),
  B: bytes(),
  N: unixNano(),
  I: int(),
  F: float(),
  L: list(uint(8)),
  A: any(),
  S: str(),
  M: map(any()),
};
type Probe = s.Infer<typeof fields>;
const ProbeStruct = struct<Probe>("Probe", fields, { omitZero: true });
const one = (value: s.Input<Probe>): string => hex(s.encodeMsgpack(ProbeStruct, s.make(ProbeStruct, value)));
const raw = (value: Record<string, unknown>): Uint8Array => new Encoder({ useBigInt64: true }).encode(value);

describe("encodeMsgpack", () => {
  it("writes Go's 15 bytes of a time", () => {
    expect(one({ T: "2023-11-14T22:13:20.123456789Z" })).toBe("81a154c40f010000000edce5e800075bcd15ffff");
    expect(one({ T: "2023-11-14T23:13:20.123456789+01:00" })).toBe("81a154c40f010000000edce5e800075bcd15ffff");
  });

  it("writes the zero time where a struct writes zeros", () => {
    const state = s.make(s.TaskStateStruct);
    expect(hex(s.encodeMsgpack(s.TaskStateStruct, state))).toContain(`c40f01${"00".repeat(12)}ffff`);
  });

  it("writes whole numbers as integers of any size, never as floats", () => {
    expect(one({ I: 128 })).toBe("81a149cc80");
    expect(one({ I: 30e9 })).toBe("81a149cf00000006fc23ac00");
    expect(one({ I: -30e9 })).toBe("81a149d3fffffff903dc5400");
    expect(one({ N: 1_796_043_450_000_000_000 })).toMatch(/^81a14ecf18/);
    expect(one({ A: { n: 3e9 * 4 } })).toBe("81a14181a16ecf00000002cb417800");
  });

  it("writes bytes raw", () => {
    expect(one({ B: "AAE=" })).toBe("81a142c4020001");
  });

  it("refuses a value of the wrong type", () => {
    expect(() => one({ S: 5 as unknown as string })).toThrow("S: must be text");
  });
});

describe("decodeMsgpack", () => {
  it("reads strings, bytes and times that arrive as str or bin", () => {
    const zero = new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]);
    const got = s.decodeMsgpack(
      ProbeStruct,
      raw({
        S: "ä",
        B: new Uint8Array([0, 1]),
        T: zero,
        L: new Uint8Array([0, 7]),
        A: { x: "y", n: 5n, l: [null, 1.5] },
      }),
    );
    expect(got).toMatchObject({ S: "ä", B: "AAE=", T: null, L: [0, 7], A: { x: "y", n: 5, l: [null, 1.5] } });
  });

  it("reads a time with a zone of seconds (16 bytes) and rejects others", () => {
    const v2 = new Uint8Array(16);
    v2.set([2, 0, 0, 0, 0x0e, 0xdc, 0xe5, 0xe8, 0, 0, 0, 0, 0]);
    expect(s.decodeMsgpack(ProbeStruct, raw({ T: v2 })).T).toBe("2023-11-14T22:13:20Z");
    for (const bad of [new Uint8Array(0), new Uint8Array(15), new Uint8Array([1, 2])]) {
      expect(() => s.decodeMsgpack(ProbeStruct, raw({ T: bad }))).toThrow("T: must be a time of 15 bytes");
    }
    const far = new Uint8Array([1, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]);
    expect(() => s.decodeMsgpack(ProbeStruct, raw({ T: far }))).toThrow("within the years");
  });

  it("takes what Go's encoder may write for a bool, a float and an unset value", () => {
    expect(s.decodeMsgpack(s.PortStruct, raw({ IgnoreCollision: 1 })).IgnoreCollision).toBe(true);
    expect(s.decodeMsgpack(s.PortStruct, raw({ IgnoreCollision: 0 })).IgnoreCollision).toBe(false);
    expect(s.decodeMsgpack(ProbeStruct, raw({ F: 5n })).F).toBe(5);
    expect(s.decodeMsgpack(ProbeStruct, raw({ S: null, L: null, M: null, I: null }))).toMatchObject({ S: "", I: 0 });
  });

  it("skips unknown keys and fills absent ones", () => {
    expect(s.decodeMsgpack(s.PortStruct, raw({ Label: "a", Later: 1 }))).toEqual({
      Label: "a",
      Value: 0,
      To: 0,
      HostNetwork: "",
      IgnoreCollision: false,
    });
  });

  it.each([
    [{ S: 5 }, "S: must be text"],
    [{ T: 5 }, "T: must be a time of 15 bytes"],
    [{ B: 5 }, "B: must be bytes"],
    [{ L: 5 }, "L: must be a list"],
    [{ M: 5 }, "M: must be a map"],
    [{ M: [5] }, "M: must be a map"],
    [{ I: 1.5 }, "I: must be a whole number"],
    [{ I: 2n ** 60n }, "I: must be between"],
  ])("refuses %o", (value, message) => {
    expect(() => s.decodeMsgpack(ProbeStruct, raw(value))).toThrow(message);
  });

  it("refuses bytes that are not msgpack, or not a map", () => {
    expect(() => s.decodeMsgpack(ProbeStruct, new Uint8Array([0xc1]))).toThrow("is not msgpack");
    expect(() => s.decodeMsgpack(ProbeStruct, new Uint8Array([0x90]))).toThrow("must be a map (Probe)");
    expect(() => s.decodeMsgpack(s.AllocationStruct, raw({ Job: 5 }))).toThrow("Job: must be a map (Job)");
  });

  it("bounds nesting", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 90; i += 1) deep = [deep];
    expect(() => s.decodeMsgpack(ProbeStruct, raw({ A: deep }), { maxDepth: 50 })).toThrow("deeper than 50");
  });

  it("keeps a key named __proto__ out of prototypes", () => {
    expect(() => s.decodeMsgpack(ProbeStruct, Buffer.from("81a14d81a95f5f70726f746f5f5f01", "hex"))).toThrow();
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("values inside larger messages", () => {
  it("converts to and from values of an encoder that the caller runs", () => {
    const port = s.make(s.PortStruct, { Label: "http", Value: 80 });
    const value = s.toMsgpackValue(s.PortStruct, port);
    expect(value).toEqual({ Label: "http", Value: 80 });
    expect(s.fromMsgpackValue(s.PortStruct, { Label: new TextEncoder().encode("http"), Value: 80 })).toEqual(port);
  });
});
