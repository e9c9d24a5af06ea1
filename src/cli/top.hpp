// `hapax top`: a snapshot of a namespace, and its lines as text.
#pragma once

#include "api/overview_json.hpp"
#include "cli/backend.hpp"
#include "cli/shell.hpp"
#include "cli/terminal.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

struct TopSnapshot : api::Overview {
  std::string location;  // of the store or server, for people
};

// Reads one snapshot; throws what the backend throws. Any thread.
[[nodiscard]] inline TopSnapshot take_snapshot(Backend& backend) {
  return {api::read_overview(backend.overview()), backend.location()};
}

enum class TopOrder : std::uint8_t { name, ready, oldest, running, dead, rate, failing };
inline constexpr std::array<std::string_view, 7> top_order_names = {"name", "ready", "oldest", "running",
                                                                    "dead", "rate",  "failing"};

// The settings of the view. `columns` and `rows` are the terminal's; rows 0: as many as needed.
struct TopView {
  std::size_t columns = 80;
  std::size_t rows = 0;
  TopOrder order = TopOrder::name;
  std::size_t selected = 0;  // index of a queue, in that order
  bool selecting = false;    // show which queue is selected
  bool paused = false;
  bool help = false;
  Duration interval{0};  // 0: no further snapshot follows
  std::string trouble;   // the store's last answer, if it was an error
};

// The lines of the view, with the colours of standard output, at most `rows`. No line is wider than the terminal,
// unless it has too few columns for the tables. Control characters in names and errors are escaped.
[[nodiscard]] std::vector<std::string> snapshot_lines(const TopSnapshot& snapshot, const TopView& view);

// Shows the live view until the user presses q; standard input and output must be terminals. Returns the exit code.
[[nodiscard]] int show_live(Shell& shell, Duration interval);

}  // namespace hapax::cli
