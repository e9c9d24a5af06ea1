// EventSender: sends events in batches, shows progress, and prints the runs that the events started.
//
// One command makes and uses it, on one thread.
#pragma once

#include "cli/backend.hpp"
#include "cli/progress.hpp"
#include "cli/shell.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

class EventSender {
 public:
  EventSender(Shell& shell, bool require_id);

  // Adds an envelope to the batch. `line` is its number in a stream, 0 for a single event. A full batch is routed at
  // once. Throws BadData for an invalid envelope, before the batch of that envelope is routed.
  void take(std::string_view envelope, std::int64_t line);
  // Routes a JSON list of envelopes; the whole list is parsed before any event is routed.
  void take_list(std::string_view list);
  void show_progress(double fraction);  // 0: the total is unknown

  // Routes the last batch and prints the result: for a single event its runs, for several events a summary. Returns the
  // exit code: exit_conflict when a run was refused.
  int finish(bool always_summary);

 private:
  struct Refusal {
    std::int64_t line = 0;
    std::string message;
  };

  void flush();
  [[nodiscard]] std::vector<std::string> send();
  void count(const std::string& document, std::int64_t line);
  void summary() const;
  [[nodiscard]] std::string so_far() const;

  Shell& shell_;
  const std::unique_ptr<EventDoor> door_;
  const schedule::MissingId missing_id_;
  ProgressLine progress_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::vector<EventDoor::Outgoing> batch_;
  std::vector<std::int64_t> lines_;  // line numbers of the batch's events
  std::size_t bytes_ = 0;
  std::string first_;  // the answer to the first event of all
  std::int64_t events_ = 0;
  std::int64_t started_ = 0;
  std::int64_t duplicates_ = 0;
  std::int64_t unmatched_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t refused_ = 0;
  std::vector<Refusal> refusals_;
};

}  // namespace hapax::cli
