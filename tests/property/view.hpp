// Answers of stores as text, so that two stores can be compared.
//
// The two stores are called one after the other, so their times differ by a little. All durations in these tests are
// multiples of 5 minutes: a time is written as the nearest such multiple since the store was opened.
#pragma once

#include "store/store.hpp"

#include <span>
#include <string>

namespace hapax::property {

using namespace hapax::model;
using store::Store;

class View {
 public:
  explicit View(Time opened) : opened_(opened) {}

  [[nodiscard]] std::string tell(const Admission& admission) const;
  [[nodiscard]] std::string tell(const Claim& claim) const;
  [[nodiscard]] std::string tell(const ClaimReply& reply) const;
  [[nodiscard]] std::string tell(const Execution& execution) const;
  [[nodiscard]] std::string tell(const Attempt& attempt) const;
  [[nodiscard]] std::string tell(const QueueInfo& queue) const;
  [[nodiscard]] std::string tell(const SessionInfo& session) const;
  [[nodiscard]] std::string tell(const JournalEntry& entry) const;
  [[nodiscard]] static std::string tell(FinishVerdict verdict);
  [[nodiscard]] static std::string tell(const BeatReply& reply);
  // Leaves out `expired` and `more`: a store may delete expired rows later, and may just have reached its limit.
  [[nodiscard]] static std::string tell(const SweepReport& report);
  [[nodiscard]] static std::string tell(const CancelResult& result);
  [[nodiscard]] static std::string tell(const RetryResult& result);

  template <class Value>
  [[nodiscard]] std::string tell(const std::vector<Value>& values) const {
    std::string text;
    for (const Value& value : values) { text += tell(value) + "\n"; }
    return text;
  }

 private:
  [[nodiscard]] std::string at(Time time) const;
  [[nodiscard]] std::string at(const std::optional<Time>& time) const { return time ? at(*time) : "-"; }

  Time opened_;
};

// The last digits of an ID, which tell IDs apart in messages.
[[nodiscard]] std::string tail(const Uuid& id);

}  // namespace hapax::property
