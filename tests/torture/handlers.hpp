// What the workers' handlers do, for raw and engine workers alike. Any thread.
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
    retry,   // a failed attempt
    failed,  // for good
    snoozed,
    settled,  // recorded already, in the handler's own transaction
  };
  Kind kind = Kind::completed;
  std::string result;
  Duration delay{0};
};

class Handlers {
 public:
  Handlers(store::Store& store, const Options& options, Log& log);

  // Runs the handler of a claim: logs its start, works, and may never return.
  [[nodiscard]] Done run(const store::Claim& claim);
  void log_verdict(const store::Finish& finish, store::FinishVerdict verdict);

  // The error of every failure that is meant.
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
