import { HttpError } from "../http-error.ts";
import type { ApiHandler, Resource } from "../api-types.ts";

/** Paths of Nomad that this server does not have, by what they are for. A path that Nomad does not know either is 404. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  "draining of nodes": ["/v1/node/:id/drain"],
  "removing of nodes": ["/v1/node/:id/purge"],
  "evaluating of nodes": ["/v1/node/:id/evaluate"],
  "pools of nodes beyond the default": ["/v1/node/pools", "/v1/node/pool", "/v1/node/pool/*"],
  "pausing of deployments": ["/v1/deployment/pause/:id"],
  "promoting of deployments": ["/v1/deployment/promote/:id"],
  "unblocking of deployments": ["/v1/deployment/unblock/:id"],
  "setting the health of allocations": ["/v1/deployment/allocation-health/:id"],
  "states of jobs in one list": ["/v1/jobs/statuses"],
  "counting of evaluations": ["/v1/evaluations/count"],
  "namespaces beyond the default": ["/v1/namespace"],
  "services of one allocation": ["/v1/allocation/:id/services"],
  "access control": ["/v1/acl/*"],
  "operating of servers": ["/v1/operator/*"],
  "identities of nodes": ["/v1/client/identity", "/v1/client/identity/renew"],
  "monitoring of the agent's log": ["/v1/agent/monitor", "/v1/agent/monitor/export"],
  "data of the agent's host": ["/v1/agent/host"],
  "profiling of the agent": ["/v1/agent/pprof/*"],
  "joining of servers": ["/v1/agent/join", "/v1/agent/force-leave"],
  "keys of the gossip": ["/v1/agent/keyring/*"],
  "scheduler workers": ["/v1/agent/schedulers", "/v1/agent/schedulers/config"],
  volumes: ["/v1/volumes", "/v1/volumes/*", "/v1/volume/*"],
  plugins: ["/v1/plugins", "/v1/plugin/*"],
  quotas: ["/v1/quotas", "/v1/quota", "/v1/quota/*", "/v1/quota-usages"],
  "scaling policies": ["/v1/scaling/*"],
  Sentinel: ["/v1/sentinel/*"],
  recommendations: ["/v1/recommendations", "/v1/recommendation", "/v1/recommendations/*", "/v1/recommendation/*"],
  licences: ["/v1/license"],
  "fuzzy search": ["/v1/search/fuzzy"],
};

/** 501 with the name of what is missing. */
export function notSupported(what: string): HttpError {
  return new HttpError(501, `not supported by this server: ${what}`);
}

/** Answers by name for what is not there, so that nobody takes it for a wrong address. */
export function unsupportedResources(): Resource[] {
  return Object.entries(UNSUPPORTED).flatMap(([what, paths]) => {
    const refuse: ApiHandler = () => {
      throw notSupported(what);
    };
    const methods = { GET: refuse, PUT: refuse, POST: refuse, DELETE: refuse };
    return paths.map((path) => ({ path, methods }));
  });
}
