import type { ApiContext } from "../api-context.ts";
import { json, type Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { PROMETHEUS_CONTENT_TYPE, toPrometheus } from "../../metrics/index.ts";

/** `/v1/metrics`: Nomad's JSON, or Prometheus' text. */
export function metricsResource(context: ApiContext): Resource {
  return {
    path: "/v1/metrics",
    methods: {
      GET: (request) => {
        if (request.params.text("format") !== "prometheus") return json(context.metrics.snapshot());
        if (!context.prometheus) throw new HttpError(415, "Prometheus is not enabled");
        return { kind: "text", text: toPrometheus(context.metrics), contentType: PROMETHEUS_CONTENT_TYPE };
      },
    },
  };
}
