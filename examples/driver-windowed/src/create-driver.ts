/** The driver: an agent's `config` names the drivers to wrap, a task's `config` picks one of them. */
import { systemClock, type Clock } from "@outrider/backoff";
import { type ConfigOf, defineDriver, type DriverPlugin, RecoverableError, schema } from "@outrider/plugin-driver";
import { createEventFeed } from "./event-feed.ts";
import { InnerDrivers, type OpenInner, type PluginLogger } from "./inner-drivers.ts";
import { readWindow } from "./read-window.ts";
import { WindowedTask } from "./windowed-task.ts";

const config = schema.object({
  /** `driver "label" { command = "/path/of/a/plugin" }`, as often as there are drivers. */
  driver: schema.blockMap("label", {
    command: schema.string().required(),
    args: schema.list(schema.string()).default([]),
    /** The driver's own `config` block as JSON text. */
    config_json: schema.string().default("{}"),
  }),
  /** Where it is kept which driver processes run, so that none is lost when this one is killed. */
  state_dir: schema.string().default("/var/tmp/outrider-driver-windowed"),
});

const taskConfig = schema.object({
  /** A label of the agent's `config`. */
  driver: schema.string().required(),
  /** What that driver takes. */
  config: schema.any(),
  /** Six fields: minute hour day month weekday year. Without it the task's meta `window_start` counts, and so for the others. */
  window_start: schema.string(),
  /** Two fields: minute hour. */
  window_end: schema.string(),
  window_timezone: schema.string(),
  /** Seconds between the signal at the end of a window and the kill. */
  stop_timeout: schema.number().default(5),
});

/** What is kept of a task for the time after a restart of this plugin. */
export interface Kept {
  readonly settings: ConfigOf<typeof taskConfig>;
  readonly file: string;
}

/** Options of {@link createWindowedDriver}. */
export interface WindowedOptions {
  readonly clock?: Clock;
  /** Where the wrapped plugins' log lines go. */
  readonly logger?: () => PluginLogger | undefined;
  /** Replaces the launch of plugin executables in tests. */
  readonly open?: OpenInner;
}

/** Makes the driver. */
export function createWindowedDriver(o: WindowedOptions = {}): DriverPlugin {
  const { clock = systemClock, logger = () => undefined } = o;
  const inner = new InnerDrivers({ clock, logger, ...(o.open === undefined ? {} : { open: o.open }) });
  const events = createEventFeed();
  return defineDriver<typeof taskConfig, Kept, typeof config>(
    {
      name: "windowed",
      version: "0.1.0",
      config,
      taskConfig,
      capabilities: { exec: true, networkIsolationModes: ["host", "group"] },
      configure: ({ driver, state_dir: stateDir }) => inner.configure(driver, stateDir),
      fingerprint: () => inner.fingerprint(),
      events: (signal) => events.stream(signal),
      shutdown: () => inner.close(),
      start: async (task, settings, signal) => {
        const schedule = readWindow(settings, task.env);
        const windowed = new WindowedTask({ task, settings, schedule, inner, events, clock });
        await windowed.start(signal);
        return windowed;
      },
      recover: async ({ config: task, state, process: keeper }) => {
        if (state?.settings === undefined)
          throw new RecoverableError("recover task: the state is not of this driver", false);
        const { settings, file } = state;
        const schedule = readWindow(settings, task.env);
        const windowed = new WindowedTask({ task, settings, schedule, inner, events, clock, file });
        await windowed.recover(keeper);
        return windowed;
      },
    },
    { clock },
  );
}
