// What `hapax top` shows: a picture of a namespace at one instant, and how it looks as text.
#pragma once

#include "cli/backend.hpp"
#include "cli/shell.hpp"
#include "cli/terminal.hpp"
#include "wire/overview_json.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

struct TopSnapshot : wire::Overview {
  std::string location;  // of the store or server, for people
};

// Looks once; throws what the backend throws. Any thread.
[[nodiscard]] inline TopSnapshot take_snapshot(Backend& backend) {
  return {wire::read_overview(backend.overview()), backend.location()};
}

enum class TopOrder : std::uint8_t { name, ready, oldest, running, dead, rate, failing };
inline constexpr std::array<std::string_view, 7> top_order_names = {"name", "ready", "oldest", "running",
                                                                    "dead", "rate",  "failing"};

// How a person wants it. `columns` and `rows` are the terminal's; rows 0: as many as it takes.
struct TopView {
  std::size_t columns = 80;
  std::size_t rows = 0;
  TopOrder order = TopOrder::name;
  std::size_t selected = 0;  // queue, in that order
  bool selecting = false;    // show which one is selected
  bool paused = false;
  bool help = false;
  Duration interval{0};  // 0: there is no next one
  std::string trouble;   // the store's last answer, when it was an error
};

// The lines of the picture, with colours where standard output shows them, none wider than the terminal unless its columns are
// too few for the tables; at most `rows`. What names and errors have in them is harmless.
[[nodiscard]] std::vector<std::string> snapshot_lines(const TopSnapshot& snapshot, const TopView& view);

// Shows it until somebody presses q; standard input and output are terminals. Returns the exit code.
[[nodiscard]] int show_live(Shell& shell, Duration interval);

}  // namespace hapax::cli
