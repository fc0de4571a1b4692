import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServerHarness } from "../server/harness.ts";
import { HttpHarness } from "./harness.ts";

const ID = "0a1b2c3d-0000-4000-8000-00000000abcd";

let api: HttpHarness;
beforeEach(async () => void (api = new HttpHarness(await new ServerHarness().start())));
afterEach(() => api.close());

describe("the snapshot of an allocation", () => {
  const path = `/v1/client/allocation/${ID}/snapshot`;

  it("is an archive of its disk", async () => {
    const dir = await api.allocDir(ID, "web", { "web.stdout.0": "LOG" });
    writeFileSync(join(dir.allocDirPath, "web/local/f"), "content");
    writeFileSync(join(dir.allocDirPath, "web/secrets/s"), "SECRET");
    const answer = await api.get(path);
    expect(answer).toMatchObject({
      status: 200,
      headers: { "content-type": "application/octet-stream", "x-content-type-options": "nosniff" },
    });
    expect(answer.text).toContain("web/local/f");
    expect(answer.text).toContain("content");
    expect(answer.text).not.toMatch(/SECRET|LOG/);
    expect(answer.text.length % 512).toBe(0);
  });

  it("tells its failure in the archive once it has begun, and by its status before", async () => {
    expect(await api.get(path)).toMatchObject({ status: 404, text: `Unknown allocation "${ID}"` });
    expect((await api.call("PUT", path)).status).toBe(405);
    const dir = await api.allocDir(ID, "web", {});
    dir.snapshot = (out) => {
      out.destroy();
      return Promise.reject(new Error("broken"));
    };
    await expect(api.get(path)).rejects.toThrow();
    rmSync(dir.allocDirPath, { recursive: true });
    expect((await api.get(path)).status).toBe(404);
  });
});
