// Cipher: which parts of the values that cross the seam are encrypted, and what each is bound to.
//
// Inputs are bound to namespace and task, as a retry copies them to a new execution inside the database; results and
// errors to their execution, also in the events of waiters; journal entries to execution and position; signals to their
// name, as a signal may move to a workflow's next run. Any thread may call.
#pragma once

#include "model/activity_state.hpp"
#include "store/encrypted/envelope.hpp"
#include "store/store.hpp"

namespace hapax::store::encrypted {

class Cipher {
 public:
  explicit Cipher(KeyRing keys) : keys_(std::move(keys)) {}

  [[nodiscard]] const KeyRing& keys() const { return keys_; }

  // ---- On the way in: copies with their payloads sealed ------------------------------------------------------------
  [[nodiscard]] NewExecution sealed(NewExecution item) const;
  [[nodiscard]] Finish sealed(Finish finish) const;
  [[nodiscard]] JournalEntry sealed(JournalEntry entry) const;  // bound to the execution it names
  [[nodiscard]] Advance sealed(Advance turn) const;
  [[nodiscard]] Signal sealed(Signal signal) const;
  [[nodiscard]] ActivityChange sealed(ActivityChange change) const;

  template <class Value>
  [[nodiscard]] std::vector<Value> sealed(std::span<const Value> values) const {
    std::vector<Value> all;
    all.reserve(values.size());
    for (const Value& value : values) { all.push_back(sealed(value)); }
    return all;
  }

  // ---- On the way out: opens payloads in place; DecryptionFailed names the execution ------------------------------
  void open(Admission& admission) const;
  void open(Claim& claim) const;
  void open(Execution& execution) const;
  void open(Outcome& outcome) const;
  void open(Guard& guard) const;
  void open(Holding& holding) const;
  void open(JournalEntry& entry) const;
  void open(History& history) const;
  void open(ActivityReply& reply) const;
  void open(const Uuid& execution, Attempt& attempt) const;

  template <class Value>
  [[nodiscard]] std::vector<Value> opened(std::vector<Value> values) const {
    for (Value& value : values) { open(value); }
    return values;
  }

 private:
  [[nodiscard]] std::string seal(const Place& place, std::string_view plain) const {
    return encrypted::seal(keys_.writing(), place, plain);
  }
  [[nodiscard]] ErrorInfo sealed(const Uuid& execution, const ErrorInfo& error) const;
  [[nodiscard]] Event sealed(Event event) const;
  [[nodiscard]] Turn sealed(const Uuid& execution, Turn turn) const;
  [[nodiscard]] Seed sealed(const Uuid& execution, Seed seed) const;
  void open_text(const Uuid& execution, const Place& place, std::string& text) const;
  void open_result(const Uuid& execution, std::optional<std::string>& result) const;
  void open_error(const Uuid& execution, std::optional<ErrorInfo>& error) const;
  void open(Event& event) const;

  KeyRing keys_;
};

}  // namespace hapax::store::encrypted
