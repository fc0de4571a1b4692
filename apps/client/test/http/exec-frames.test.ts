import { describe, expect, it } from "vitest";
import { execFrameText, parseExecMessage } from "../../src/http/exec-frames.ts";
import { shortened } from "../../src/http/exec-session.ts";

const none = { exitCode: 0, signal: 0, oomKilled: false };

describe("messages of an exec", () => {
  it.each([
    ["{}", {}],
    ['{"stdin":null,"tty_size":null}', {}],
    ['{"stdin":{"data":"aGk="}}', { stdin: { data: Buffer.from("hi") } }],
    ['{"stdin":{"close":true}}', { stdin: { close: true } }],
    ['{"tty_size":{"height":3,"width":4}}', { ttySize: { height: 3, width: 4 } }],
    ['{"tty_size":{}}', {}],
    ['{"version":1,"auth_token":"t"}', { handshake: { version: 1, token: "t" } }],
    ['{"version":1}', { handshake: { version: 1, token: "" } }],
  ])("%s is understood", (text, message) => {
    expect(parseExecMessage(text)).toEqual(message);
  });

  it.each([
    ["nonsense", "not JSON"],
    ["[1]", "message is not an object"],
    ['{"stdin":1}', "stdin is not an object"],
    ['{"stdin":{"data":1}}', "stdin.data"],
    ['{"tty_size":{"height":-1}}', "tty_size"],
    ['{"tty_size":{"width":70000}}', "tty_size"],
    ['{"tty_size":{"width":1.5}}', "tty_size"],
  ])("%s is refused", (text, why) => {
    expect(() => parseExecMessage(text)).toThrow(why);
  });

  it("leave out what is zero", () => {
    expect(execFrameText({ stdout: { data: Buffer.from("hi") } })).toBe('{"stdout":{"data":"aGk="}}');
    expect(execFrameText({ stderr: { close: true } })).toBe('{"stderr":{"close":true}}');
    expect(execFrameText({ exited: none })).toBe('{"exited":true,"result":{}}');
    expect(execFrameText({ exited: { exitCode: 137, signal: 9, oomKilled: true } })).toBe(
      '{"exited":true,"result":{"exit_code":137,"signal":9,"oom_killed":true}}',
    );
    expect(execFrameText({})).toBeUndefined();
  });

  it("have reasons that fit into a close frame, in whole characters", () => {
    expect(shortened("short")).toBe("short");
    for (const letter of ["x", "ü", "𝄞"]) {
      const text = shortened(letter.repeat(200));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(123);
      expect(Buffer.byteLength(text)).toBeGreaterThan(115);
      expect(text).toMatch(new RegExp(`^(${letter})+…$`, "u"));
    }
  });
});
