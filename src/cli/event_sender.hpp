// EventSender: events routed in batches, with progress, and what became of them told (SPEC S8).
//
// Made for one command, on its thread.
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

  // One envelope. `line` is its number in a stream, 0 for one that came alone. A batch that is full is routed at once.
  // Throws BadData for one that cannot be taken, before the batch it belongs to is routed.
  void take(std::string_view envelope, std::int64_t line);
  // A JSON list of envelopes: all of it is read before any is routed.
  void take_list(std::string_view list);
  void show_progress(double fraction);  // 0: how much there is is not known

  // Routes what is left and tells the end of it: of a single event what it started, of several a summary. Returns the exit
  // code: exit_conflict when something was refused.
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
  std::vector<std::int64_t> lines_;  // of the batch's events
  std::size_t bytes_ = 0;
  std::string first_;  // what became of the first event of all
  std::int64_t events_ = 0;
  std::int64_t started_ = 0;
  std::int64_t duplicates_ = 0;
  std::int64_t unmatched_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t refused_ = 0;
  std::vector<Refusal> refusals_;
};

}  // namespace hapax::cli
