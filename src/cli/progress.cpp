#include "cli/progress.hpp"

#include "base/text.hpp"
#include "cli/terminal.hpp"

#include <algorithm>
#include <cmath>

namespace hapax::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto rewrite_every = std::chrono::milliseconds(100);
constexpr auto line_every = std::chrono::seconds(5);
constexpr int bar_columns = 24;

}  // namespace

ProgressLine::ProgressLine(const Shell& shell)
    : enabled_(!shell.quiet() && (!shell.json() || error_terminal().is_tty)),
      rewrites_(error_terminal().is_tty),
      next_(Steady::now() + (rewrites_ ? Steady::duration(0) : Steady::duration(line_every))) {}

ProgressLine::~ProgressLine() { clear(); }

bool ProgressLine::due() const { return enabled_ && Steady::now() >= next_; }

void ProgressLine::clear() {
  if (shown_) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_ = false;
  }
}

void ProgressLine::show(const std::string& text) {
  if (!due()) { return; }
  if (rewrites_) {
    const std::string line = fit(text, static_cast<std::size_t>(std::max(10, error_terminal().columns - 1)));
    std::fprintf(stderr, "\r%s\033[K", line.c_str());
    std::fflush(stderr);
    shown_ = true;
    next_ = Steady::now() + rewrite_every;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
    next_ = Steady::now() + line_every;
  }
}

void ProgressLine::remark(const std::string& text) {
  if (enabled_) { trouble(text); }
}

void ProgressLine::trouble(const std::string& text) {
  clear();
  std::fprintf(stderr, "%s\n", base::printable(text).c_str());
}

std::string progress_bar(double fraction) {
  const double bounded = std::clamp(fraction, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(bounded * bar_columns));
  return "[" + std::string(full, '#') + std::string(bar_columns - full, '-') + "] " +
         std::to_string(static_cast<int>(bounded * 100)) + " %";
}

std::string grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = text.starts_with("-") ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string rate_text(std::int64_t count, Steady::duration over) {
  const double seconds = std::max(std::chrono::duration<double>(over).count(), 1e-6);
  return grouped(static_cast<std::int64_t>(static_cast<double>(count) / seconds)) + "/s";
}

}  // namespace hapax::cli
