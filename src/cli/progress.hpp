// How long work shows that it goes on, on standard error: a line that is rewritten on a terminal, a plain line now and
// then elsewhere, nothing with --quiet or --json.
#pragma once

#include "cli/shell.hpp"

#include <chrono>
#include <string>

namespace hapax::cli {

class ProgressLine {
 public:
  explicit ProgressLine(const Shell& shell);
  ~ProgressLine();  // clear()
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether an update now would be shown: texts need not be made for nothing.
  [[nodiscard]] bool due() const;
  void show(const std::string& text);
  // Takes a rewritten line off the terminal: what follows on standard output begins on a clean line.
  void clear();
  // A line that stays, above the rewritten one.
  void remark(const std::string& text);
  // A remark about something that went wrong: --quiet and --json leave it out as little as they do errors.
  void trouble(const std::string& text);

 private:
  bool enabled_;
  bool rewrites_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// "[##########----------] 50 %"
[[nodiscard]] std::string progress_bar(double fraction);

// "1,234,567"
[[nodiscard]] std::string grouped(std::int64_t count);

// "12,345/s" for that many in that time.
[[nodiscard]] std::string rate_text(std::int64_t count, std::chrono::steady_clock::duration over);

}  // namespace hapax::cli
