import {
  AllocationStruct,
  JobStruct,
  make,
  NodeStruct,
  TaskStruct,
  type Allocation,
  type Task,
} from "@outrider/nomad-structs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coreList, pathsInTask } from "../../src/task/env/builtin-env.ts";
import { cleanEnvName } from "../../src/task/env/env-names.ts";
import { interpolate } from "../../src/task/env/interpolate.ts";
import { TaskEnvBuilder, type TaskEnvBuilderOptions } from "../../src/task/env/task-env-builder.ts";

const node = make(NodeStruct, {
  ID: "node-1",
  Name: "n1",
  Datacenter: "dc1",
  NodeClass: "big",
  NodePool: "default",
  Attributes: { "kernel.name": "linux", "driver.x": "1", "driver.x.version": "2.0" },
  Meta: { rack: "r7" },
});

function alloc(
  task: Task,
  o: { job?: object; group?: object; resources?: object; shared?: object; others?: object } = {},
): Allocation {
  const Job = make(JobStruct, {
    ID: "web",
    Name: "shop",
    Namespace: "prod",
    Meta: { a: "job", b: "job", "x-y": "1" },
    TaskGroups: [{ Name: "g", Meta: { b: "group" }, Tasks: [task], ...o.group }],
    ...o.job,
  });
  const granted = {
    Cpu: { CpuShares: 500, ReservedCores: [3, 1, 2, 7] },
    Memory: { MemoryMB: 64, MemoryMaxMB: 128 },
    ...o.resources,
  };
  const made = make(AllocationStruct, {
    ID: "5456bd7a-9fc0-c0dd-6131-cbee77f57577",
    Name: "shop.g[3]",
    Namespace: "prod",
    JobID: "web",
    TaskGroup: "g",
    AllocatedResources: { Tasks: { [task.Name]: granted, ...o.others }, Shared: { DiskMB: 1, ...o.shared } },
  });
  return { ...made, Job };
}

function builder(task: Task, o: Partial<TaskEnvBuilderOptions> & Parameters<typeof alloc>[1] = {}): TaskEnvBuilder {
  const b = new TaskEnvBuilder({
    alloc: alloc(task, o),
    task,
    node: () => node,
    region: "global",
    ...(o.host ? { host: o.host } : {}),
  });
  const paths = { allocDir: "/a/alloc", localDir: "/a/web/local", secretsDir: "/a/web/secrets" };
  b.setPaths(paths, paths);
  return b;
}

const plain = make(TaskStruct, { Name: "web", Meta: { c: "task" } });

describe("variables of a task", () => {
  it("tell the allocation, the job, the place and the limits", () => {
    expect(builder(plain).build().all).toMatchObject({
      NOMAD_ALLOC_ID: "5456bd7a-9fc0-c0dd-6131-cbee77f57577",
      NOMAD_SHORT_ALLOC_ID: "5456bd7a",
      NOMAD_ALLOC_NAME: "shop.g[3]",
      NOMAD_ALLOC_INDEX: "3",
      NOMAD_TASK_NAME: "web",
      NOMAD_GROUP_NAME: "g",
      NOMAD_JOB_ID: "web",
      NOMAD_JOB_NAME: "shop",
      NOMAD_DC: "dc1",
      NOMAD_REGION: "global",
      NOMAD_NAMESPACE: "prod",
      NOMAD_CPU_LIMIT: "500",
      NOMAD_CPU_CORES: "1-3,7",
      NOMAD_MEMORY_LIMIT: "64",
      NOMAD_MEMORY_MAX_LIMIT: "128",
      NOMAD_ALLOC_DIR: "/a/alloc",
      NOMAD_TASK_DIR: "/a/web/local",
      NOMAD_SECRETS_DIR: "/a/web/secrets",
    });
  });

  it("are left out when there is no value", () => {
    const env = builder(plain, {
      job: { ParentID: "" },
      resources: { Cpu: { CpuShares: 1, ReservedCores: null }, Memory: { MemoryMB: 1, MemoryMaxMB: 0 } },
    }).build().all;
    for (const name of [
      "NOMAD_JOB_PARENT_ID",
      "NOMAD_PARENT_CGROUP",
      "NOMAD_MEMORY_MAX_LIMIT",
      "NOMAD_CPU_CORES",
      "NOMAD_TOKEN",
    ])
      expect(env).not.toHaveProperty(name);
  });

  it("hold meta: the task's over the group's over the job's, as written and in capitals", () => {
    const env = builder(plain).build().all;
    expect([env["NOMAD_META_a"], env["NOMAD_META_b"], env["NOMAD_META_c"], env["NOMAD_META_B"]]).toEqual([
      "job",
      "group",
      "task",
      "group",
    ]);
    expect(env["NOMAD_META_x_y"]).toBe("1");
  });

  it("give optional meta of a dispatched job an empty value", () => {
    const job = { Dispatched: true, ParameterizedJob: { MetaOptional: ["opt", "a"] } };
    const env = builder(plain, { job }).build().all;
    expect([env["NOMAD_META_opt"], env["NOMAD_META_a"]]).toEqual(["", "job"]);
  });

  it("tell the group's ports, with the inner ones where there is a mapping", () => {
    const Ports = [
      { Label: "http", Value: 21000, To: 80, HostIP: "10.0.0.1" },
      { Label: "raw-x", Value: 21001, To: 0, HostIP: "::1" },
    ];
    const b = builder(plain, { shared: { Ports } });
    expect(b.build().all).toMatchObject({
      NOMAD_IP_http: "10.0.0.1",
      NOMAD_ADDR_http: "10.0.0.1:21000",
      NOMAD_HOST_ADDR_http: "10.0.0.1:21000",
      NOMAD_HOST_PORT_http: "21000",
      NOMAD_PORT_http: "80",
      NOMAD_ALLOC_PORT_http: "80",
      NOMAD_PORT_raw_x: "21001",
      NOMAD_ADDR_raw_x: "[::1]:21001",
    });
    b.setNetworkStatus({ InterfaceName: "eth0", Address: "172.26.0.2", AddressIPv6: "", DNS: null });
    expect(b.build().all).toMatchObject({
      NOMAD_ALLOC_INTERFACE_http: "eth0",
      NOMAD_ALLOC_IP_http: "172.26.0.2",
      NOMAD_ALLOC_ADDR_http: "172.26.0.2:80",
    });
  });

  it("tell the ports of old style networks, and those of the other tasks", () => {
    const Networks = [
      {
        IP: "10.0.0.9",
        ReservedPorts: [{ Label: "ssh", Value: 22 }],
        DynamicPorts: [{ Label: "web", Value: 30000, To: 8080 }],
      },
    ];
    const b = builder(plain, {
      resources: { Cpu: { CpuShares: 1 }, Memory: { MemoryMB: 1 }, Networks },
      others: {
        db: { Cpu: {}, Memory: {}, Networks: [{ IP: "10.0.0.8", DynamicPorts: [{ Label: "sql", Value: 31000 }] }] },
      },
    });
    b.setDriverNetwork({ portMap: { ssh: 2222 }, address: "", autoAdvertise: false });
    expect(b.build().all).toMatchObject({
      NOMAD_PORT_ssh: "2222",
      NOMAD_PORT_web: "8080",
      NOMAD_HOST_PORT_web: "30000",
      NOMAD_IPv4_web: "10.0.0.9",
      NOMAD_ADDR_db_sql: "10.0.0.8:31000",
      NOMAD_IP_db_sql: "10.0.0.8",
      NOMAD_PORT_db_sql: "31000",
    });
  });

  it("come in layers: built in, the agent's where free, the task's, hooks in order, templates", () => {
    const task = make(TaskStruct, { Name: "web", Env: { HOME: "task", T: "task", NOMAD_DC: "mine" } });
    const b = builder(task, { host: { PATH: "/bin", HOME: "host", NOMAD_REGION: "wrong", T: "host", H: "host" } });
    b.setHook("one", { H: "one", X: "one" });
    b.setHook("two", { X: "two" });
    b.setHook("template", { X: "template" });
    b.setHook("devices", { GPU: "0" });
    const env = b.build();
    expect(env.all).toMatchObject({
      PATH: "/bin",
      HOME: "task",
      T: "task",
      NOMAD_DC: "mine",
      NOMAD_REGION: "global",
      H: "one",
      X: "template",
    });
    expect(env.all).not.toHaveProperty("GPU");
    expect(env.device).toEqual({ GPU: "0" });
  });

  it("can be made of others", () => {
    const task = make(TaskStruct, {
      Name: "web",
      Env: { URL: "http://${NOMAD_ALLOC_ID}/${node.unique.name}/${attr.kernel.name}/${meta.rack}/${nope}" },
    });
    expect(builder(task).build().all["URL"]).toBe("http://5456bd7a-9fc0-c0dd-6131-cbee77f57577/n1/linux/r7/${nope}");
  });

  it("are frozen, and made anew when something changes (hashicorp/nomad#25269)", () => {
    const b = builder(plain);
    const first = b.build();
    expect(b.build()).toBe(first);
    expect(() => {
      (first.all as Record<string, string>)["A"] = "1";
    }).toThrow(TypeError);
    b.setHook("x", { A: "1" });
    expect(b.build().all["A"]).toBe("1");
    b.update(
      alloc(make(TaskStruct, { Name: "web", Env: { B: "2" } })),
      make(TaskStruct, { Name: "web", Env: { B: "2" } }),
    );
    expect(b.build().all["B"]).toBe("2");
    b.setHost({ C: "3" });
    expect(b.build().all["C"]).toBe("3");
    expect(first.all).not.toHaveProperty("A");
  });
});

describe("paths", () => {
  const host = { allocDir: "/h/alloc", localDir: "/h/local", secretsDir: "/h/secrets" };
  const mounts = { allocDir: "/m/alloc", localDir: "/m/local", secretsDir: "/m/secrets" };

  it("are the host's, the mounted ones, or the short ones, by the driver's isolation", () => {
    expect(pathsInTask("none", host, mounts)).toBe(host);
    expect(pathsInTask("unveil", host, mounts)).toBe(mounts);
    expect(pathsInTask("unveil", host, undefined)).toBe(host);
    expect(pathsInTask("image", host, mounts)).toEqual({
      allocDir: "/alloc",
      localDir: "/local",
      secretsDir: "/secrets",
    });
  });

  it("differ for the task and for the agent (hashicorp/nomad#9671)", () => {
    const b = builder(plain);
    b.setPaths(pathsInTask("image", host, undefined), host);
    const env = b.build();
    expect(env.replace("${NOMAD_TASK_DIR}/x")).toBe("/local/x");
    expect(env.replaceForClient("${NOMAD_TASK_DIR}/x ${meta.rack}")).toBe("/h/local/x r7");
    expect(env.view().replace("${node.class}")).toBe("big");
  });
});

describe("nested names for a driver's config", () => {
  it("offer variables by name and in env, node, attr and meta; an object wins over a value of the same name", () => {
    const nested = builder(plain).build().nested() as Record<string, Record<string, unknown>>;
    expect(nested["env"]?.["NOMAD_DC"]).toBe("dc1");
    expect(nested["NOMAD_DC"]).toBe("dc1");
    expect(nested["node"]?.["unique"]).toMatchObject({ id: "node-1" });
    expect(nested["node"]?.["attr"]).toBe(nested["attr"]);
    expect(nested["node"]?.["meta"]).toBe(nested["meta"]);
    expect(nested["attr"]?.["driver"]).toEqual({ x: { version: "2.0" } });
  });

  it("are never a prototype's", () => {
    const task = make(TaskStruct, { Name: "web", Env: { "a.constructor.b": "1", "__proto__x.y": "2" } });
    const nested = builder(task).build().nested();
    expect(({} as Record<string, unknown>)["y"]).toBeUndefined();
    expect((nested["a"] as Record<string, Record<string, unknown>>)["constructor"]?.["b"]).toBe("1");
  });
});

describe("interpolation", () => {
  it("leaves alone what it does not know or does not own", () => {
    const lookup = (name: string): string | undefined => (name === "a" ? "1" : undefined);
    expect(interpolate("${a} ${b} ${a b} $a $${a} ${}", lookup)).toBe("1 ${b} ${a b} $a $1 ${}");
    expect(interpolate("plain", lookup)).toBe("plain");
  });

  it("replaces any known name anywhere, once, and nothing else", () => {
    const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,12}$/);
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.string()),
        fc.array(
          fc.oneof(
            name.map((n) => ({ n })),
            fc
              .string()
              .filter((s) => !s.includes("$"))
              .map((s) => ({ s })),
          ),
        ),
        (vars, parts) => {
          const known = (n: string): string | undefined => (Object.hasOwn(vars, n) ? vars[n] : undefined);
          const text = parts.map((p) => ("n" in p ? `\${${p.n}}` : p.s)).join("");
          const expected = parts.map((p) => ("n" in p ? (known(p.n) ?? `\${${p.n}}`) : p.s)).join("");
          expect(interpolate(text, known)).toBe(expected);
        },
      ),
    );
  });

  it("cleans names so that a shell can use them (hashicorp/nomad#2405)", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (name) => {
        const clean = cleanEnvName(name);
        expect(clean).toMatch(/^[A-Za-z_.][A-Za-z0-9_.]*$/);
        expect(cleanEnvName(clean)).toBe(clean);
      }),
    );
  });

  it("writes cores as ranges that give the same cores back", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(40)), (cores) => {
        const back = coreList(cores)
          .split(",")
          .filter(Boolean)
          .flatMap((part) => {
            const [from, to = from] = part.split("-").map(Number) as [number, number?];
            return Array.from({ length: (to as number) - from + 1 }, (_, i) => from + i);
          });
        expect(back).toEqual([...cores].sort((a, b) => a - b));
      }),
    );
  });
});
