import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import type { Allocation } from "@outrider/nomad-structs";
import { createServer as createHttp } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { AllocChecks } from "../../src/alloc/checks/alloc-checks.ts";
import { planChecks, type PlannedCheck } from "../../src/alloc/checks/check-plan.ts";
import { probeService } from "../../src/alloc/checks/probe.ts";

const check = (o: object = {}): object => ({
  Name: "",
  Type: "tcp",
  PortLabel: "",
  Interval: 1e9,
  Timeout: 1e9,
  Path: "",
  Protocol: "",
  Method: "",
  Header: null,
  Body: "",
  OnUpdate: "require_healthy",
  CheckRestart: null,
  TaskName: "",
  TLSSkipVerify: false,
  TLSServerName: "",
  ...o,
});
const service = (o: object = {}): object => ({
  Name: "web",
  Provider: "nomad",
  PortLabel: "http",
  Address: "",
  TaskName: "",
  Checks: [check()],
  ...o,
});
const alloc = (o: { group?: object[]; task?: object[] }): Allocation =>
  ({
    ID: "a",
    Name: "j.g[0]",
    TaskGroup: "g",
    Job: {
      TaskGroups: [{ Name: "g", Services: o.group ?? null, Tasks: [{ Name: "main", Services: o.task ?? null }] }],
    },
    AllocatedResources: { Shared: { Ports: [{ Label: "http", Value: 8080, To: 0, HostIP: "10.0.0.1" }] } },
  }) as unknown as Allocation;
const same = (text: string): string => text;

describe("the checks of an allocation", () => {
  it("get their address from the port's label, the service's address or a number", () => {
    const { checks, faults } = planChecks(
      alloc({
        group: [service({ Checks: [check({ Name: "named" }), check({ PortLabel: "9090" })] })],
        task: [service({ Address: "127.0.0.9" })],
      }),
      same,
    );
    expect(checks.map((c) => [c.name, c.task, c.host, c.port])).toEqual([
      ["named", "", "10.0.0.1", 8080],
      ['service: "web" check', "", "10.0.0.1", 9090],
      ['service: "web" check', "main", "127.0.0.9", 8080],
    ]);
    expect(faults).toEqual([]);
    expect(new Set(checks.map((c) => c.id)).size).toBe(3);
  });

  it("that cannot be made are told, and those of other providers are not ours", () => {
    const { checks, faults } = planChecks(
      alloc({ group: [service({ PortLabel: "none" }), service({ Provider: "consul" })] }),
      same,
    );
    expect(checks).toEqual([]);
    expect(faults).toEqual([
      { service: "web", check: 'service: "web" check', reason: 'port "none" is not one of the group\'s' },
    ]);
  });

  it("run at their interval, report changes, and restart a task that keeps failing, after the grace of each start", async () => {
    const clock = new ManualClock();
    const restarts: [number, string, string][] = [];
    let ok = false;
    let since: number | undefined = 0;
    const checks = new AllocChecks({
      clock,
      logger: noopLogger,
      probe: () => Promise.resolve({ ok, output: "o", statusCode: 0 }),
      restart: (task, reason) => {
        restarts.push([clock.monotonic(), task, reason]);
        since = undefined;
        return Promise.resolve();
      },
      runningSince: () => since,
    });
    let changes = 0;
    using _ = checks.onChange(() => changes++);
    checks.start(
      alloc({
        task: [service({ Checks: [check({ CheckRestart: { Limit: 2, Grace: 1e9, IgnoreWarnings: false } })] })],
      }),
      same,
    );
    expect(checks.health()).toEqual({ count: 1, passing: false });
    expect(Object.values(checks.results())[0]).toMatchObject({
      Status: "pending",
      Group: "j.g[0]",
      Task: "main",
      Service: "web",
      Mode: "healthiness",
    });
    await clock.advance(2000);
    expect(restarts).toEqual([[2000, "main", 'healthcheck: check "service: \\"web\\" check" unhealthy']]);
    since = clock.monotonic() + 1100;
    await clock.advance(3200);
    expect(restarts.length).toBe(2);
    since = clock.monotonic();
    ok = true;
    await clock.advance(1000);
    expect(checks.health()).toEqual({ count: 1, passing: true });
    // The start itself, the first failure, the first success.
    expect(changes).toBe(3);
    await checks.stop();
    expect(clock.pending.length).toBe(0);
  });

  it("of readiness do not hold up health, and ignored ones do not count", async () => {
    const clock = new ManualClock();
    const checks = new AllocChecks({
      clock,
      logger: noopLogger,
      probe: () => Promise.resolve({ ok: false, output: "", statusCode: 0 }),
      restart: () => Promise.resolve(),
      runningSince: () => 0,
    });
    checks.start(alloc({ group: [service({ Checks: [check({ OnUpdate: "ignore" })] })] }), same);
    await clock.advance(10);
    expect(checks.health()).toEqual({ count: 0, passing: true });
    expect(Object.values(checks.results())[0]).toMatchObject({ Mode: "readiness", Status: "failure" });
    await checks.stop();
  });
});

describe("asking a service", () => {
  const planned = (port: number, o: object = {}): PlannedCheck =>
    ({ host: "127.0.0.1", port, check: check(o) }) as unknown as PlannedCheck;
  const signal = new AbortController().signal;

  it("over TCP and HTTP", async () => {
    const tcp = createServer().listen(0, "127.0.0.1");
    const http = createHttp((request, response) => {
      response.statusCode = request.url === "/ok" ? 204 : 503;
      response.end("busy");
    }).listen(0, "127.0.0.1");
    await Promise.all([tcp, http].map((s) => new Promise((resolve) => s.once("listening", resolve))));
    const portOf = (s: { address(): unknown }): number => (s.address() as AddressInfo).port;
    expect(await probeService(planned(portOf(tcp)), signal)).toEqual({
      ok: true,
      output: "nomad: tcp ok",
      statusCode: 0,
    });
    expect(await probeService(planned(portOf(http), { Type: "http", Path: "/ok" }), signal)).toEqual({
      ok: true,
      output: "nomad: http ok",
      statusCode: 204,
    });
    expect(
      await probeService(planned(portOf(http), { Type: "http", Path: "/", Header: { A: ["b"] } }), signal),
    ).toEqual({ ok: false, output: "busy", statusCode: 503 });
    const gone = portOf(tcp);
    tcp.close();
    http.close();
    expect(await probeService(planned(gone), signal)).toMatchObject({
      ok: false,
      output: expect.stringContaining("ECONNREFUSED"),
    });
    expect(await probeService(planned(gone, { Type: "http" }), signal)).toMatchObject({ ok: false, statusCode: 0 });
  });

  it("ends with its signal", async () => {
    const silent = createHttp(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const stop = new AbortController();
    const asked = probeService(planned((silent.address() as AddressInfo).port, { Type: "http" }), stop.signal);
    stop.abort(new Error("no answer in time"));
    expect(await asked).toMatchObject({ ok: false });
    silent.closeAllConnections();
    silent.close();
  });
});
