// The handlers of raw and engine workers. Any thread may call them.
#pragma once

#include "torture/log.hpp"
#include "torture/options.hpp"
#include "torture/own_writes.hpp"
#include "torture/plan.hpp"

#include "store/store.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace hapax::torture {

struct Done {
  enum class Kind : std::uint8_t {
    completed,
    retry,   // the attempt fails
    failed,  // a permanent failure
    snoozed,
    settled,  // the handler's own transaction has recorded the outcome
  };
  Kind kind = Kind::completed;
  std::string result;
  Duration delay{0};
};

class Handlers {
 public:
  Handlers(store::Store& store, const Options& options, Log& log);

  // Runs the handler of a claim: logs its start and works. Never returns if the handler kills the process.
  [[nodiscard]] Done run(const store::Claim& claim);
  void log_verdict(const store::Finish& finish, store::FinishVerdict verdict);

  // The error of every planned failure.
  [[nodiscard]] static store::ErrorInfo doom() { return {.type = "Doomed", .message = "as planned", .detail = ""}; }

 private:
  Done complete_once(const store::Claim& claim);
  Done complete_in_transaction(const store::Claim& claim);

  store::Store& store_;
  const Options& options_;
  Log& log_;
  std::mutex writes_mutex_;
  std::unique_ptr<OwnWrites> writes_;
};

[[nodiscard]] std::string_view name_of(store::FinishKind kind);

}  // namespace hapax::torture
