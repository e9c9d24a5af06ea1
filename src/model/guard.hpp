// Guarded calls as callers and operators see them.
#pragma once

#include "model/execution.hpp"

namespace hapax::model {

// A guard: the execution of a guarded call, which holds the call's identity.
struct Guard {
  Uuid id;
  std::string task;
  std::string key;
  Status status = Status::running;  // running, completed, failed or cancelled
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  Time started_at{};  // of the latest attempt
  std::optional<Time> finished_at;
  std::optional<Time> expires_at;  // none while the guard runs
  std::int64_t fence = 0;
  std::optional<Duration> takeover_after;
  Time heartbeat{};        // the session's last one, not before started_at; of an ended guard: when it ended
  bool abandoned = false;  // running, but its session is gone or the session's lease is over
  std::optional<base::Digest> fingerprint;
  std::string worker;  // the session's worker label, if known
  Time now{};          // the store's clock when the guard was read
};

// A list leaves out guards unless it asks for them by kind, queue or id: guards are many, and no worker runs them.
[[nodiscard]] inline bool excludes_guards(const ListQuery& query) {
  return !query.kind && query.ids.empty() && query.queue != std::string(guard_queue);
}

}  // namespace hapax::model
