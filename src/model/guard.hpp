// Guarded calls as people and their callers see them (SPEC §8).
#pragma once

#include "model/execution.hpp"

namespace hapax::model {

// A guard that holds its identity, as a caller or an operator sees it.
struct Guard {
  Uuid id;
  std::string task;
  std::string key;
  Status status = Status::running;  // running, completed or failed; what was cancelled is told so
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  Time started_at{};  // of the latest attempt
  std::optional<Time> finished_at;
  std::optional<Time> expires_at;  // none while it runs
  std::int64_t fence = 0;
  std::optional<Duration> takeover_after;
  Time heartbeat{};        // of its session, not before started_at; the end of one that has ended
  bool abandoned = false;  // it runs, but its session is gone or its lease over
  std::optional<base::Digest> fingerprint;
  std::string worker;  // of its session, as far as it is known
  Time now{};          // the store's, when it was read
};

// Guards are many and nobody's work to look after: a list has them when it asks for them, by kind, queue or id.
[[nodiscard]] inline bool leaves_guards_out(const ListQuery& query) {
  return !query.kind && query.ids.empty() && query.queue != std::string(guard_queue);
}

}  // namespace hapax::model
