// The routes for monitoring: /healthz, /readyz, /metrics.
#pragma once

#include "http/health.hpp"
#include "http/metrics.hpp"
#include "http/router.hpp"

namespace hapax::http {

// GET /healthz: the process is up and its event loops run. Does not ask the store, so that an unavailable store does
// not get every server restarted. GET /readyz, for load balancers: 200 when all checks pass, else 503. GET /metrics:
// Prometheus' text format; if there are tokens, needs one with the scope read. `readiness` and `metrics` outlive the
// router.
void add_probes(Router& router, const Readiness& readiness, const Metrics& metrics);

}  // namespace hapax::http
