#include "engine/outcome.hpp"

#include <hapax/control.hpp>

#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"

#include <cxxabi.h>
#include <algorithm>
#include <cstdlib>
#include <typeinfo>

namespace hapax::engine {

namespace {

std::string readable_type(const std::type_info* type) {
  if (type == nullptr) { return "unknown"; }
  int status = 0;
  char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = status == 0 && readable != nullptr ? readable : type->name();
  std::free(readable);  // NOLINT: allocated by the C++ runtime with malloc
  return name;
}

Duration bounded(Duration delay) { return std::clamp(delay, Duration::zero(), limits::delay_max); }

// Call this in a catch block.
Ending ending_of_exception() {
  try {
    throw;
  } catch (const Snooze& snooze) { return Ending::snoozed(bounded(snooze.delay)); } catch (const RetryAfter& again) {
    return Ending::failed({.error = {again.name(), again.what(), {}}, .retry_after = bounded(again.delay)});
  } catch (const Permanent& permanent) {
    return Ending::failed({.error = {permanent.name(), permanent.what(), {}}, .permanent = true});
  } catch (const Error& error) {
    return Ending::failed(error.name(), error.what());
  } catch (const std::exception& error) {
    return Ending::failed(readable_type(&typeid(error)), error.what());
  } catch (const std::string& text) { return Ending::failed("std::string", text); } catch (const char* text) {
    return Ending::failed("const char*", text == nullptr ? "(null)" : text);
  } catch (...) {
    return Ending::failed(readable_type(abi::__cxa_current_exception_type()),
                          "the handler threw something that is not a std::exception");
  }
}

model::ErrorInfo clean(const model::ErrorInfo& error) {
  return {base::keep_head(base::escape_invalid(error.type), limits::name_bytes),
          base::keep_head(base::escape_invalid(error.message), limits::error_message_bytes),
          base::keep_tail(base::escape_invalid(error.detail), limits::error_detail_bytes)};
}

model::Finish finish_of(const Run& run, model::FinishKind kind, const Attempted& attempted) {
  model::Finish finish;
  finish.id = run.claim().id;
  finish.fence = run.claim().fence;
  finish.kind = kind;
  finish.ran_for = attempted.ran_for;
  return finish;
}

}  // namespace

Ending run_handler(const Handler& handler, Run& run) noexcept {
  try {
    try {
      Ending ending = handler(run);
      if (ending.kind == Ending::Kind::completed && ending.result.size() > base::payload_limit()) {
        const PayloadTooLarge error("result", ending.result.size(), base::payload_limit());
        return Ending::failed({.error = {error.name(), error.what(), {}}, .permanent = true});
      }
      return ending;
    } catch (...) { return ending_of_exception(); }
  } catch (...) {
    // Out of memory while describing an error: the failed attempt is recorded without a message.
    return Ending::failed(model::Failure{});
  }
}

std::optional<model::Finish> to_finish(const Run& run, Ending ending, const Attempted& attempted) {
  switch (ending.kind) {
    case Ending::Kind::settled: return std::nullopt;
    case Ending::Kind::completed: {
      model::Finish finish = finish_of(run, model::FinishKind::completed, attempted);
      finish.result = std::move(ending.result);
      return finish;
    }
    case Ending::Kind::released: return release_finish(run);
    case Ending::Kind::snoozed: {
      model::Finish finish = finish_of(run, model::FinishKind::snoozed, attempted);
      finish.delay = bounded(ending.delay);
      return finish;
    }
    case Ending::Kind::cancelled:
    case Ending::Kind::failed: break;
  }
  ending.failure.error = clean(ending.failure.error);
  if (run.stop_reason() == StopReason::cancel_requested) {
    model::Finish finish = finish_of(run, model::FinishKind::cancelled, attempted);
    finish.error = std::move(ending.failure.error);
    // The store records the reason of the cancellation as the message, so the handler's message is kept as the detail.
    if (finish.error->detail.empty()) { finish.error->detail = finish.error->message; }
    return finish;
  }
  return model::finish_failure(run.claim(), ending.failure, attempted.jitter, attempted.ran_for);
}

model::Finish timeout_finish(const Run& run, bool deadline, const Attempted& attempted) {
  if (deadline) {
    model::Finish finish = finish_of(run, model::FinishKind::timed_out, attempted);
    finish.error = model::ErrorInfo{"DeadlineExceeded", "the execution's deadline passed while it ran", {}};
    return finish;
  }
  const std::string limit = format_duration(run.claim().attempt_timeout.value_or(attempted.ran_for));
  const model::Failure failure{.error = {"Timeout", "the attempt ran longer than its timeout of " + limit, {}}};
  return model::finish_failure(run.claim(), failure, attempted.jitter, attempted.ran_for);
}

model::Finish cancelled_finish(const Run& run, const Attempted& attempted) {
  return finish_of(run, model::FinishKind::cancelled, attempted);
}

model::Finish release_finish(const Run& run) { return finish_of(run, model::FinishKind::released, {}); }

model::Finish unrecordable_finish(const model::Finish& refused, std::string_view reason) {
  model::Finish finish;
  finish.id = refused.id;
  finish.fence = refused.fence;
  finish.kind = model::FinishKind::failed;
  finish.ran_for = refused.ran_for;
  std::string plain;
  for (const char c : reason.substr(0, limits::error_message_bytes)) { plain += c >= ' ' && c < 127 ? c : '?'; }
  finish.error = model::ErrorInfo{"OutcomeRefused", "the store refused the outcome: " + plain, {}};
  return finish;
}

std::optional<Status> terminal_status(const model::Finish& finish) {
  switch (finish.kind) {
    case model::FinishKind::completed: return Status::completed;
    case model::FinishKind::failed: return Status::failed;
    case model::FinishKind::cancelled: return Status::cancelled;
    case model::FinishKind::timed_out: return Status::timed_out;
    case model::FinishKind::continued: return Status::completed;
    case model::FinishKind::retry:
    case model::FinishKind::snoozed:
    case model::FinishKind::waiting:
    case model::FinishKind::released: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hapax::engine
