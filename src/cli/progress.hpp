// ProgressLine: shows the progress of long work on standard error: a line that is rewritten on a terminal, else a plain
// line every 5 s. With --quiet it shows nothing, with --json only on a terminal.
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

  // Whether show() would print now, so that callers need not build a text in vain.
  [[nodiscard]] bool due() const;
  void show(const std::string& text);
  // Removes the rewritten line from the terminal, so that standard output begins on a clean line.
  void clear();
  // Prints a line that stays, above the rewritten one.
  void remark(const std::string& text);
  // Prints a remark about a problem: like errors, it is printed with --quiet and --json too.
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

// The rate of `count` over that time: "12,345/s".
[[nodiscard]] std::string rate_text(std::int64_t count, std::chrono::steady_clock::duration over);

}  // namespace hapax::cli
