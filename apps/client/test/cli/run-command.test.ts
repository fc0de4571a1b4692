import { ManualClock } from "@outrider/backoff/testing";
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ApiClient } from "../../src/cli/api-client.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/index.ts";
import { runCommand } from "../../src/cli/run.ts";

const dir = mkdtempSync(join(tmpdir(), "outrider-cli-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function cli(
  argv: readonly string[],
  o: { env?: Record<string, string>; tty?: boolean; stdin?: string; nowMs?: number } = {},
): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const context: CommandContext = {
    stdout: { write: (t) => void (out += typeof t === "string" ? t : Buffer.from(t).toString()) },
    stderr: { write: (t) => void (err += String(t)), isTTY: o.tty ?? false },
    stdin: (async function* () {
      yield Buffer.from(o.stdin ?? "");
    })(),
    env: o.env ?? {},
    cwd: dir,
    clock: new ManualClock({ now: o.nowMs ?? Date.parse("2026-11-30T12:00:00Z") }),
    signal: new AbortController().signal,
  };
  return { code: await runCommand(COMMANDS, context, argv), out, err };
}

describe("the program", () => {
  it("lists its commands, those of a family, and the options of one", async () => {
    expect((await cli(["help"])).out).toContain("job run");
    expect(await cli([])).toMatchObject({ code: 127, out: "" });
    expect(await cli(["alloc"])).toMatchObject({ code: 1, out: expect.stringContaining("outrider alloc pause") });
    expect(await cli(["alloc", "-h"])).toMatchObject({ code: 0 });
    const help = await cli(["job", "run", "-help"]);
    expect(help.code).toBe(0);
    expect(help.out).toMatch(/-var-file <path>[^]*NOMAD_ADDR/);
    for (const command of COMMANDS)
      for (const flag of Object.keys(command.flags)) expect(command.usage, command.name).toContain(`-${flag}`);
  });

  it("names what it does not know", async () => {
    expect(await cli(["frob"])).toMatchObject({ code: 127, err: expect.stringContaining('"frob"') });
    expect(await cli(["job", "frob"])).toMatchObject({ code: 127, err: expect.stringContaining('"job frob"') });
    expect(await cli(["job", "run", "-frob"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/-frob[^]*job run -help/),
    });
  });

  it("says what else there is for a command that only Nomad's own has, or that is called otherwise", async () => {
    for (const [words, name] of [
      [["deployment", "list"], "deployment list"],
      [["job", "plan", "x"], "job plan"],
      [["operator", "-h"], "operator"],
    ] as const)
      expect(await cli(words)).toEqual({
        code: 127,
        out: "",
        err: expect.stringMatching(new RegExp(`no command "${name}".*\n.*works against this agent`)),
      });
    expect((await cli(["status"])).err).toMatch(/no command "status".*\n.*`outrider job status` or/);
    expect((await cli(["run", "x.hcl"])).err).toContain("Did you mean `outrider job run`?");
    expect((await cli(["frob"])).err).not.toContain("Nomad");
  });

  it("prints its version", async () => {
    for (const words of [["version"], ["-v"], ["--version"]])
      expect((await cli(words)).out).toMatch(/^Outrider v\d+\.\d+\.\d+\n$/);
  });

  it("says where no agent answers, in colour on a terminal only", async () => {
    const env = { NOMAD_ADDR: "http://127.0.0.1:9" };
    const plain = await cli(["job", "status"], { env });
    expect(plain).toMatchObject({
      code: 1,
      err: expect.stringContaining("http://127.0.0.1:9: no agent answers there"),
    });
    expect(plain.err).not.toContain("\u001b");
    expect((await cli(["job", "status"], { env: { ...env, NO_COLOR: "1" }, tty: true })).err).not.toContain("\u001b");
    for (const address of ["nonsense", "ftp://x", "127.0.0.1:4646", "localhost:4646", "unix://", "http://[::1"])
      expect(await cli(["job", "status", `-address=${address}`])).toMatchObject({
        code: 1,
        err: `the address ${JSON.stringify(address)} is no URL of an agent: it begins with http://, https:// or unix:// (-address, NOMAD_ADDR)\n`,
      });
    expect((await cli(["job", "status", "-token=a\nb"])).err).toBe("the token holds characters that no token has\n");
  });

  it("says which option names a file that it cannot read", async () => {
    for (const [variable, flag] of [
      ["NOMAD_CACERT", "ca-cert"],
      ["NOMAD_CAPATH", "ca-path"],
      ["NOMAD_CLIENT_KEY", "client-key"],
    ])
      expect(await cli(["job", "status"], { env: { [variable as string]: "/nowhere" } })).toMatchObject({
        code: 1,
        err: `-${flag} (${variable}): cannot read "/nowhere": it does not exist\n`,
      });
    expect((await cli(["job", "status", `-ca-cert=${dir}`])).err).toContain("EISDIR");
    writeFileSync(join(dir, "cert.pem"), "");
    expect((await cli(["job", "status", "-client-cert", join(dir, "cert.pem")])).err).toContain("together");
  });

  it("takes what the environment names to the agent, leaves the path of an address out, and says so", async () => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      seen.push([request.url, request.headers["x-nomad-token"], request.headers["authorization"]]);
      response.end("[]");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const env = {
      NOMAD_ADDR: `http://127.0.0.1:${port}/prefix/`,
      NOMAD_TOKEN: "secret",
      NOMAD_NAMESPACE: "n",
      NOMAD_REGION: "r",
      NOMAD_HTTP_AUTH: "user:word",
      NOMAD_SKIP_VERIFY: "true",
      NOMAD_TLS_SERVER_NAME: "name",
      NOMAD_CAPATH: mkdtempSync(join(dir, "ca-")),
    };
    writeFileSync(join(env.NOMAD_CAPATH, "a.pem"), "");
    expect(await cli(["job", "status"], { env })).toEqual({
      code: 0,
      out: "No running jobs\n",
      err: 'Note: the path "/prefix/" of the address is not used.\n',
    });
    expect(seen).toEqual([["/v1/jobs?region=r&namespace=n", "secret", "Basic dXNlcjp3b3Jk"]]);
    expect((await cli(["job", "status"], { env: { NOMAD_ADDR: `HTTP://127.0.0.1:${port}/` } })).err).toBe("");
    server.close();
  });

  it("asks a crowded agent again when it says so, but not for ever", async () => {
    let asked = 0;
    let refusals = 2;
    const server = createServer((_request, response) => {
      asked += 1;
      if (asked <= refusals) response.writeHead(429, { "retry-after": "0.01" }).end("later");
      else response.end("[]");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const client = new ApiClient({ address });
    expect((await client.get("/v1/jobs")).value).toEqual([]);
    expect(asked).toBe(3);
    refusals = Number.POSITIVE_INFINITY;
    await expect(client.get("/v1/jobs")).rejects.toThrow("Unexpected response code: 429 (later)");
    await expect(client.put("/v1/jobs", {})).rejects.toThrow("429");
    expect(asked).toBe(3 + 11 + 1);
    server.close();
  });

  it("talks over a unix socket, with the token", async () => {
    const seen: unknown[] = [];
    const socket = join(dir, "api.sock");
    const server = createServer((request, response) => {
      seen.push([request.url, request.headers["x-nomad-token"]]);
      response.end("[]");
    }).listen(socket);
    await new Promise((resolve) => server.once("listening", resolve));
    expect(await cli(["job", "status", `-address=unix://${socket}`, "-token=t", "-namespace", "n"])).toMatchObject({
      code: 0,
      out: "No running jobs\n",
    });
    expect(seen).toEqual([["/v1/jobs?namespace=n", "t"]]);
    server.close();
  });

  it("shows the faults of a job file with their place, and submits nothing", async () => {
    writeFileSync(join(dir, "bad.nomad.hcl"), 'job "x" {\n  group "g" {\n    count = \n  }\n}\n');
    const bad = await cli(["job", "run", "bad.nomad.hcl"], { env: { NOMAD_ADDR: "http://127.0.0.1:9" } });
    expect(bad.code).toBe(1);
    expect(bad.err).toMatch(/bad\.nomad\.hcl:3,\d+/);
    expect(await cli(["job", "run", "none.hcl"])).toMatchObject({
      code: 1,
      err: expect.stringContaining('"none.hcl"'),
    });
    expect(await cli(["job", "run", "-var", "novalue", "bad.nomad.hcl"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("novalue"),
    });
  });

  it("previews the windows of a job file without an agent, also from standard input", async () => {
    const file =
      'job "x" {\n group "g" {\n task "t" {\n driver = "raw_exec"\n schedule {\n cron {\n start = "0 9 * * MON-FRI *"\n end = "0 17"\n timezone = "UTC"\n }\n }\n }\n }\n}\n';
    const shown = await cli(["schedule", "preview", "-n", "2", "-"], { stdin: file });
    expect(shown).toMatchObject({ code: 0, err: "" });
    expect(shown.out).toContain('Task "t" of group "g" (UTC): inside its window now');
    expect(shown.out).toMatch(/2026-12-01.*09:00.*2026-12-01.*17:00.*8h0m0s/);
    expect((await cli(["schedule", "preview", "-n", "0", "-"], { stdin: file })).code).toBe(1);
    expect(
      (
        await cli(["schedule", "preview", "-"], {
          stdin: 'job "x" {\n group "g" {\n task "t" {\n driver = "raw_exec"\n }\n }\n}\n',
        })
      ).out,
    ).toBe("No task of this job has a schedule\n");
  });
});
