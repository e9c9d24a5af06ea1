// Includes all public headers except hapax/asio.hpp and hapax/guard_asio.hpp, which need Boost, hapax/testing.hpp and
// hapax/replay_tester.hpp, which are for tests, and hapax/prometheus.hpp and hapax/otlp.hpp, which few programs need.
#pragma once

#include <hapax/activity.hpp>
#include <hapax/admin.hpp>
#include <hapax/app.hpp>
#include <hapax/bulk.hpp>
#include <hapax/context.hpp>
#include <hapax/control.hpp>
#include <hapax/error.hpp>
#include <hapax/guard.hpp>
#include <hapax/guard_options.hpp>
#include <hapax/guard_store.hpp>
#include <hapax/handle.hpp>
#include <hapax/inspect.hpp>
#include <hapax/json.hpp>
#include <hapax/log.hpp>
#include <hapax/observer.hpp>
#include <hapax/options.hpp>
#include <hapax/policy.hpp>
#include <hapax/saga.hpp>
#include <hapax/status.hpp>
#include <hapax/supervisor.hpp>
#include <hapax/task.hpp>
#include <hapax/time.hpp>
#include <hapax/time_bucket.hpp>
#include <hapax/transaction.hpp>
#include <hapax/uuid.hpp>
#include <hapax/version.hpp>
#include <hapax/worker.hpp>
#include <hapax/workflow.hpp>
#include <hapax/workflow_context.hpp>
