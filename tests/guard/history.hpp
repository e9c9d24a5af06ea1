// The history of one key, and whether a record that changes at single instants can have given these answers.
//
// The search of Wing and Gong over one key's operations: is there an order, with each operation between its beginning
// and its end, in which every answer is the record's? States already visited are skipped.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hapax::guard_tests {

struct Happened {
  enum class What : std::uint8_t { started, in_progress, completed, finish, unlock };
  What what = What::started;
  std::int64_t fence = 0;  // the hold's fence; in answers in_progress and completed, the record's
  bool accepted = true;    // for finish and unlock
  std::int64_t begun = 0;
  std::int64_t ended = 0;
};

class History {
 public:
  static constexpr std::size_t most = 512;

  [[nodiscard]] static bool is_linearizable(std::vector<Happened> operations) {
    if (operations.size() > most) { return false; }
    History search(std::move(operations));
    return search.from({}, Record{});
  }

 private:
  struct Record {
    enum class Mode : std::uint8_t { none, held, completed } mode = Mode::none;
    std::int64_t fence = 0;
  };
  using Done = std::bitset<most>;

  explicit History(std::vector<Happened> operations) : operations_(std::move(operations)) {}

  static bool apply(Record& record, const Happened& operation) {
    using Mode = Record::Mode;
    const bool mine = record.fence == operation.fence;
    switch (operation.what) {
      case Happened::What::started:
        if (record.mode != Mode::none || operation.fence <= record.fence) { return false; }
        record = {Mode::held, operation.fence};
        return true;
      case Happened::What::in_progress: return record.mode == Mode::held && mine;
      case Happened::What::completed: return record.mode == Mode::completed && mine;
      case Happened::What::finish:
      case Happened::What::unlock: break;
    }
    const bool takes = record.mode == Mode::held && mine;
    if (takes != operation.accepted) { return false; }
    if (takes) { record.mode = operation.what == Happened::What::finish ? Mode::completed : Mode::none; }
    return true;
  }

  bool from(const Done& done, const Record& record) {
    if (done.count() == operations_.size()) { return true; }
    const std::string state = done.to_string() + std::to_string(static_cast<int>(record.mode));
    if (!seen_.insert(state + ":" + std::to_string(record.fence)).second) { return false; }
    // Only an operation that began before the first remaining end can be next.
    std::int64_t bound = INT64_MAX;
    for (std::size_t index = 0; index < operations_.size(); ++index) {
      if (!done[index]) { bound = std::min(bound, operations_[index].ended); }
    }
    for (std::size_t index = 0; index < operations_.size(); ++index) {
      Record next = record;
      if (done[index] || operations_[index].begun > bound || !apply(next, operations_[index])) { continue; }
      Done with = done;
      with.set(index);
      if (from(with, next)) { return true; }
    }
    return false;
  }

  std::vector<Happened> operations_;
  std::set<std::string> seen_;
};

}  // namespace hapax::guard_tests
