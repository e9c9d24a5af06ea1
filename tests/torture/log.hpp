// Logs outside the store: the acknowledgements, starts and outcomes that each process saw.
//
// A process appends a line with one write(2) before it does anything else, so the line survives the process. Each child
// has its own file; a line that SIGKILL cut has no newline and is not read.
#pragma once

#include <hapax/uuid.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::torture {

enum class Event : char {
  acknowledged = 'A',  // id, task, key or "-", run: the admission that created it was answered
  duplicate = 'D',     // id: an admission was answered with this holder
  cancel = 'C',        // id, verdict: the answer to a cancellation
  observed = 'W',      // id, status, result or "-": an outcome was read
  started = 'S',       // id, fence: a handler begins
  offered = 'R',       // id, fence, what: a handler's outcome goes to the engine; the verdict is unknown
  finished = 'F',      // id, fence, what, verdict, result or "-": the store's answer to an outcome
  journaled = 'J',     // id, fence, value: a sub-step was recorded
  poisoned = 'P',      // id, fence: the handler is about to kill its process
  note = 'N',          // what: an event to count
};

// Appends to one file, from any thread.
class Log {
 public:
  Log(const std::string& folder, const std::string& role, int number);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  template <class... Words>
  void write(Event event, const Words&... words) {
    std::string line(1, static_cast<char>(event));
    ((line += ' ', line += text(words)), ...);
    append(line);
  }

 private:
  static std::string text(const Uuid& id) { return id.to_string(); }
  static std::string text(std::int64_t number) { return std::to_string(number); }
  static std::string text(int number) { return std::to_string(number); }
  static std::string text(std::string_view words) { return words.empty() ? "-" : std::string(words); }
  void append(std::string& line);

  int file_;
};

struct Record {
  Event event = Event::note;
  int child = 0;
  std::vector<std::string> words;  // without the event

  [[nodiscard]] Uuid id() const;             // the first word
  [[nodiscard]] std::int64_t fence() const;  // the second
};

// The lines that one child has written so far; empty if its log does not exist yet.
[[nodiscard]] std::vector<Record> read_log(const std::string& folder, const std::string& role, int number);

// All complete lines of all logs in a folder. Throws if a complete line is malformed.
[[nodiscard]] std::vector<Record> read_logs(const std::string& folder);

}  // namespace hapax::torture
