import { expect, it } from "vitest";
import { resolveAgentConfig } from "../../src/agent/agent-config.ts";

const config = (more: object, env = {}): ReturnType<typeof resolveAgentConfig> =>
  resolveAgentConfig({ dataDir: "/data", ...more }, env, "/cwd");

it("reads which plugins to run, and their config", () => {
  const { pluginDir, plugins } = config({
    pluginDir: "plugins",
    plugins: ["hello=outrider-driver-hello", "win=w=1"],
    pluginConfigs: ['win={"driver": {"hello": {"command": "/x"}}}'],
  });
  expect(pluginDir).toBe("/cwd/plugins");
  expect(plugins).toEqual([
    { name: "hello", file: "outrider-driver-hello" },
    { name: "win", file: "w=1", config: { driver: { hello: { command: "/x" } } } },
  ]);
  expect(config({}, { OUTRIDER_PLUGIN_DIR: "/p" })).toMatchObject({ pluginDir: "/p", plugins: [] });
  expect(config({})).toMatchObject({ pluginDir: undefined, plugins: [] });
});

it.each<[string, object, RegExp]>([
  ["without an equals sign", { plugins: ["hello"] }, /-plugin "hello" is not of the form driver=file/],
  ["without a name", { plugins: ["=file"] }, /not of the form/],
  ["without a file", { plugins: ["hello="] }, /not of the form/],
  ["with a path", { plugins: ["hello=../x"] }, /not a path/],
  ["given twice", { plugins: ["a=b", "a=c"] }, /"a" is given twice/],
  ["with a config that is no JSON", { plugins: ["a=b"], pluginConfigs: ["a={"] }, /is no JSON/],
  [
    "with a config for nobody",
    { plugins: ["a=b"], pluginConfigs: ["b={}"] },
    /"b" is for a driver that no -plugin names/,
  ],
])("refuses a plugin %s", (_what, more, message) => {
  expect(() => config({ pluginDir: "/p", ...more })).toThrow(message);
  expect(() => config({ pluginDir: "/p", ...more })).toThrow(
    expect.objectContaining({ code: "ERR_OUTRIDER_AGENT_CONFIG" }),
  );
});

it("refuses a plugin without a folder", () => {
  expect(() => config({ plugins: ["a=b"] })).toThrow(/-plugin "a" needs -plugin-dir/);
});
