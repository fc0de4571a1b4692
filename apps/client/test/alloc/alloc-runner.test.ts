import { expect, it } from "vitest";
import { Harness, oneTask } from "./support/harness.ts";

it("runs a service task from receipt to a clean stop", async () => {
  const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
  await h.clock.advance(100);
  expect(h.types()).toEqual(["Received", "Task Setup", "Started"]);
  expect(h.status).toBe("running");
  h.stop();
  await h.clock.advance(100);
  await h.done();
  expect(h.types()).toEqual(["Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"]);
  expect(h.status).toBe("complete");
});
