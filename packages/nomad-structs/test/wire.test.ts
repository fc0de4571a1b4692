import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as s from "../src/index.ts";

const here = (path: string): string => new URL(`fixtures/${path}`, import.meta.url).pathname;
const read = (path: string): unknown => JSON.parse(readFileSync(decodeURIComponent(here(path)), "utf8"));

const STORED: Record<string, s.Struct<unknown>> = {
  AllocCheckStatus: s.AllocCheckStatusStruct,
  AllocListStub: s.AllocListStubStruct,
  AllocResourceUsage: s.AllocResourceUsageStruct,
  Allocation: s.AllocationStruct,
  Deployment: s.DeploymentStruct,
  Evaluation: s.EvaluationStruct,
  HostStats: s.HostStatsStruct,
  Job: s.JobStruct,
  JobListStub: s.JobListStubStruct,
  JobSubmission: s.JobSubmissionStruct,
  JobSummary: s.JobSummaryStruct,
  Node: s.NodeStruct,
  NodeListStub: s.NodeListStubStruct,
  ServiceRegistration: s.ServiceRegistrationStruct,
};

/** Leaves out what a body of the recording had cut away (the marker of a trimmed part is a string). */
const whole = (body: unknown): body is Record<string, unknown> => typeof body === "object" && body !== null;

describe("bodies of a stock Nomad 2.0.5", () => {
  for (const [name, of] of Object.entries(STORED)) {
    const bodies = read(`http/${name}.json`) as unknown[];
    it(`decodes and encodes every recorded ${name} (${bodies.length}) without a difference`, () => {
      expect(bodies.length).toBeGreaterThan(0);
      for (const body of bodies) {
        expect(whole(body)).toBe(true);
        const value = s.decode(of, body, { unknownKeys: "refuse" });
        expect(s.encode(of, value)).toEqual(body);
      }
    });

    it(`keeps every recorded ${name} over msgpack`, () => {
      for (const body of bodies) {
        const value = s.decode(of, body);
        const back = s.decodeMsgpack(of, s.encodeMsgpack(of, value));
        expect(s.encode(of, back)).toEqual(s.encode(of, value));
      }
    });
  }

  it("keeps every submitted job as it was submitted", () => {
    for (const body of read("http/JobInput.json") as unknown[]) {
      expect(s.decodeInput(s.JobStruct, body, { unknownKeys: "refuse" })).toEqual(body);
    }
  });

  const files = readdirSync(decodeURIComponent(here("jobspec")));
  it.each(files)("keeps the job of %s as the stock parser printed it", (file) => {
    const { Job } = read(`jobspec/${file}`) as { Job: unknown };
    expect(s.decodeInput(s.JobStruct, Job, { unknownKeys: "refuse" })).toEqual(Job);
  });
});
