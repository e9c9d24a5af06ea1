// The routes that machines look at: /healthz, /readyz, /metrics.
#pragma once

#include "server/health.hpp"
#include "server/metrics.hpp"
#include "server/router.hpp"

namespace hapax::server {

// GET /healthz: the process is up and its event loops turn; asks nothing of the store, so that a store that is away does not
// get every server restarted. GET /readyz: 200 when all checks pass, else 503; a balancer goes by it. GET /metrics:
// Prometheus' text; needs a token that may read, if there are tokens. Both outlive the router.
void add_probes(Router& router, const Readiness& readiness, const Metrics& metrics);

}  // namespace hapax::server
