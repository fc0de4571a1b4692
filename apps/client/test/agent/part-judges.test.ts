import { describe, expect, it } from "vitest";
import { createJobRules } from "../../src/agent/job-rules.ts";
import { jobBody } from "../server/harness.ts";

const rules = createJobRules({ drivers: () => ["raw_exec"], region: "global" });
const errors = (group: object, task: object): readonly string[] =>
  rules.judge(rules.canonicalize(jobBody("j", {}, group as never, task as never))).errors;
const PREFIX = 'group "g", task "t"';

describe("a submitted job", () => {
  it("may have artifacts, templates and services that this client honours", () => {
    expect(
      errors(
        {
          Networks: [{ DynamicPorts: [{ Label: "http" }] }],
          Services: [
            { Name: "g", Provider: "nomad", PortLabel: "http", Checks: [{ Type: "tcp", Interval: 1e9, Timeout: 1e9 }] },
          ],
        },
        {
          Artifacts: [{ GetterSource: "http://h/${attr.cpu.arch}/f", RelativeDest: "local/" }],
          Templates: [
            { EmbeddedTmpl: '{{ with nomadVar "a" }}{{ .k }}{{ end }}', DestPath: "local/f" },
            { SourcePath: "local/t", DestPath: "local/g", ChangeMode: "signal", ChangeSignal: "SIGHUP" },
          ],
          Services: [
            {
              Name: "t",
              Provider: "nomad",
              PortLabel: "http",
              Checks: [{ Type: "http", Path: "/", Interval: 1e9, Timeout: 1e9, CheckRestart: { Limit: 3 } }],
            },
          ],
        },
      ),
    ).toEqual([]);
  });

  it.each<[object, string]>([
    [
      { Artifacts: [{ GetterSource: "git::https://h/a.git" }] },
      `${PREFIX}, artifact 1: artifact source "git::https://h/a.git": only http and https are supported`,
    ],
    [
      { Artifacts: [{ GetterSource: "http://h/f" }, { GetterSource: "http://h/f.zip" }] },
      `${PREFIX}, artifact 2: artifact "http://h/f.zip" is an archive: unpacking is not supported (archive = false keeps it packed)`,
    ],
    [
      { Templates: [{ EmbeddedTmpl: '\n{{ with secret "a" }}{{ end }}', DestPath: "local/f" }] },
      `${PREFIX}, template 1: template line 2: function "secret" is not supported`,
    ],
    [
      { Templates: [{ EmbeddedTmpl: '{{ key "a" }}', DestPath: "local/f" }] },
      `${PREFIX}, template 1: template line 1: function "key" is not supported`,
    ],
    [
      {
        Templates: [{ EmbeddedTmpl: "x", DestPath: "local/f", ChangeMode: "script", ChangeScript: { Command: "/c" } }],
      },
      `${PREFIX}, template 1: change_mode "script" is not supported by this client`,
    ],
    [
      { Templates: [{ EmbeddedTmpl: "x", DestPath: "local/f", Wait: { Min: 1e9, Max: 2e9 } }] },
      `${PREFIX}, template 1: a wait block of a template is not supported by this client`,
    ],
    [
      { Templates: [{ EmbeddedTmpl: "x", DestPath: "local/f", Perms: "4755" }] },
      `${PREFIX}, template 1: perms "4755": set-id and sticky bits are not supported by this client`,
    ],
    [
      {
        Templates: [
          { EmbeddedTmpl: "x", DestPath: "local/f", Envvars: true, ChangeMode: "signal", ChangeSignal: "SIGHUP" },
        ],
      },
      `${PREFIX}, template 1: a template with env = true cannot have change_mode signal: variables are read at the start`,
    ],
  ])("is refused for %j", (task, message) => expect(errors({}, task)).toEqual([message]));

  it.each<[object, string]>([
    [{ AddressMode: "alloc" }, 'address_mode "alloc" is not supported by this client'],
    [{ Provider: "consul" }, 'a service of provider "consul"'],
    [
      { Checks: [{ Name: "c", Type: "script", Command: "/c", Interval: 1e9, Timeout: 1e9 }] },
      'check "c": the type "script" is not supported by this client',
    ],
    [
      { Checks: [{ Name: "c", Type: "grpc", Interval: 1e9, Timeout: 1e9 }] },
      'check "c": the type "grpc" is not supported by this client',
    ],
    [
      { Checks: [{ Name: "c", Type: "tcp", AddressMode: "driver", Interval: 1e9, Timeout: 1e9 }] },
      'check "c": address_mode "driver" is not supported',
    ],
    [
      { Checks: [{ Name: "c", Type: "tcp", Expose: true, Interval: 1e9, Timeout: 1e9 }] },
      'check "c": expose is not supported',
    ],
    [
      { Checks: [{ Name: "c", Type: "tcp", SuccessBeforePassing: 2, Interval: 1e9, Timeout: 1e9 }] },
      'check "c": success_before_passing is not',
    ],
    [
      { Checks: [{ Name: "c", Type: "tcp", FailuresBeforeCritical: 2, Interval: 1e9, Timeout: 1e9 }] },
      'check "c": failures_before_critical is not',
    ],
    [
      { Checks: [{ Name: "c", Type: "tcp", FailuresBeforeWarning: 2, Interval: 1e9, Timeout: 1e9 }] },
      'check "c": failures_before_warning is not',
    ],
    [
      { Checks: [{ Name: "c", Type: "tcp", InitialStatus: "passing", Interval: 1e9, Timeout: 1e9 }] },
      'check "c": initial_status is not',
    ],
  ])("is refused for a service with %j", (o, message) => {
    expect(errors({ Services: [{ Name: "s", Provider: "nomad", PortLabel: "80", ...o }] }, {}).join("\n")).toContain(
      message,
    );
  });
});
