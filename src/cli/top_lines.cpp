#include "base/text.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"
#include "cli/top.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hapax::cli {
namespace {

constexpr std::size_t least_rows = 3;  // the fewest rows of a table, if there is any room at all

void sort(std::vector<model::QueueInfo>& queues, TopOrder order) {
  const auto value = [order](const model::QueueInfo& q) -> std::int64_t {
    switch (order) {
      case TopOrder::name: return 0;
      case TopOrder::ready: return q.ready;
      case TopOrder::oldest: return q.oldest_ready.value_or(Duration(-1)).count();
      case TopOrder::running: return q.running;
      case TopOrder::dead: return q.dead;
      case TopOrder::rate: return q.completed_last_minute;
      case TopOrder::failing: return q.failed_last_minute;
    }
    return 0;
  };
  // Queues with equal values stay in the order of their names, so that lines do not jump.
  std::ranges::stable_sort(queues, std::greater<>(), value);
}

// The live view has one line per row and cuts long texts. Snapshots that are printed fold them.
Column detail_column(const TopView& view, const char* title) {
  return {.title = title, .widest = SIZE_MAX, .folds = view.rows == 0};
}

std::string count(std::int64_t number) { return grouped(number); }

Cell alarming(std::int64_t number, Style style) { return Cell(count(number), number > 0 ? style : Style::plain); }

std::string state_text(const model::QueueSettings& settings) {
  if (settings.paused) { return settings.draining ? "paused, draining" : "paused"; }
  return settings.draining ? "draining" : "open";
}

std::vector<std::string> queue_lines(std::vector<model::QueueInfo> queues, const TopView& view, std::size_t rows) {
  sort(queues, view.order);
  Table table({{.title = view.selecting ? "  QUEUE" : "QUEUE", .widest = 32},
               {.title = "STATE"},
               {.title = "READY", .numeric = true},
               {.title = "DELAYED", .numeric = true, .narrow = "DELAY"},
               {.title = "PARKED", .numeric = true, .narrow = "PARK"},
               {.title = "RUNNING", .numeric = true, .narrow = "RUN"},
               {.title = "DEAD", .numeric = true},
               {.title = "OLDEST", .numeric = true},
               {.title = "DONE/MIN", .numeric = true, .narrow = "DONE/M"},
               {.title = "FAILED/MIN", .numeric = true, .narrow = "FAIL/M"}});
  // The selected queue is always visible.
  const std::size_t selected = std::min(view.selected, queues.empty() ? 0 : queues.size() - 1);
  const std::size_t first = selected >= rows ? selected - rows + 1 : 0;
  const std::size_t last = std::min(queues.size(), first + rows);
  for (std::size_t i = first; i < last; ++i) {
    const model::QueueInfo& q = queues[i];
    const bool chosen = view.selecting && i == selected;
    const std::string name = view.selecting ? (chosen ? "> " : "  ") + q.queue.name : q.queue.name;
    const bool open = !q.settings.paused && !q.settings.draining;
    table.add({Cell(name, chosen ? Style::bold : Style::plain),
               Cell(state_text(q.settings), open ? Style::plain : Style::warn), count(q.ready), count(q.delayed),
               count(q.parked), Cell(count(q.running), q.running > 0 ? Style::busy : Style::plain),
               alarming(q.dead, Style::bad), q.oldest_ready ? rough(*q.oldest_ready) : "",
               count(q.completed_last_minute), alarming(q.failed_last_minute, Style::bad)});
  }
  std::vector<std::string> lines = table.lines(view.columns);
  if (queues.empty()) { lines = {paint(output_terminal(), Style::dim, "no queues")}; }
  if (queues.size() > last - first) {
    lines.push_back(paint(output_terminal(), Style::dim,
                          "  " + std::to_string(first + 1) + " to " + std::to_string(last) + " of " +
                              plural(static_cast<std::int64_t>(queues.size()), "queue")));
  }
  return lines;
}

std::vector<std::string> session_lines(const TopSnapshot& snapshot, const TopView& view, std::size_t rows) {
  if (snapshot.sessions.empty()) { return {paint(output_terminal(), Style::warn, "no workers")}; }
  Table table({{.title = "WORKER", .widest = 32},
               {.title = "HOST", .widest = 24},
               {.title = "PID", .numeric = true},
               {.title = "RUNNING", .numeric = true},
               {.title = "UP", .numeric = true},
               detail_column(view, "QUEUES")});
  for (std::size_t i = 0; i < std::min(rows, snapshot.sessions.size()); ++i) {
    const model::SessionInfo& session = snapshot.sessions[i];
    std::string queues;
    for (const model::QueueRef& queue : session.queues) { queues += (queues.empty() ? "" : ", ") + queue.name; }
    table.add({session.worker, session.host, std::to_string(session.pid),
               Cell(count(session.running), session.running > 0 ? Style::busy : Style::plain),
               rough(std::max(snapshot.at - session.started_at, Duration::zero())), queues});
  }
  std::vector<std::string> lines = table.lines(view.columns);
  if (snapshot.sessions.size() > rows) {
    const auto more = static_cast<std::int64_t>(snapshot.sessions.size() - rows);
    lines.push_back(paint(output_terminal(), Style::dim, "  and " + plural(more, "worker") + " more"));
  }
  return lines;
}

std::vector<std::string> failure_lines(const TopSnapshot& snapshot, const TopView& view, std::size_t rows) {
  if (snapshot.failures.empty()) { return {paint(output_terminal(), Style::dim, "no failures")}; }
  Table table({{.title = "FAILED", .numeric = true},
               {.title = "QUEUE", .widest = 20},
               {.title = "TASK", .widest = 24},
               {.title = "ID", .whole = true},
               detail_column(view, "ERROR")});
  for (std::size_t i = 0; i < std::min(rows, snapshot.failures.size()); ++i) {
    const model::Execution& failure = snapshot.failures[i];
    const Time ended = failure.finished_at.value_or(snapshot.at);
    table.add({rough(std::max(snapshot.at - ended, Duration::zero())) + " ago", failure.queue.name, failure.task,
               shown_id(failure.id), Cell(error_line(failure.error), Style::bad)});
  }
  return table.lines(view.columns);
}

std::string totals_line(const TopSnapshot& snapshot) {
  model::QueueInfo sum;
  for (const model::QueueInfo& q : snapshot.queues) {
    sum.ready += q.ready;
    sum.delayed += q.delayed + q.parked;
    sum.running += q.running;
    sum.dead += q.dead;
    sum.completed_last_minute += q.completed_last_minute;
    sum.failed_last_minute += q.failed_last_minute;
  }
  return count(sum.ready) + " ready, " + count(sum.delayed) + " waiting, " + count(sum.running) + " running, " +
         count(sum.dead) + " dead; " + count(sum.completed_last_minute) + " done and " + count(sum.failed_last_minute) +
         " failed in a minute; " + plural(static_cast<std::int64_t>(snapshot.sessions.size()), "worker");
}

std::string title_line(const TopSnapshot& snapshot, const TopView& view) {
  const std::string time = format_time(snapshot.at);
  std::string text = "hapax " + snapshot.namespace_name;
  if (view.order != TopOrder::name) {
    text += " by " + std::string(top_order_names[static_cast<std::size_t>(view.order)]);
  }
  // The location is last, so that a narrow screen cuts it first.
  text += ", " + time.substr(0, 19) + "Z";
  if (view.interval > Duration::zero()) { text += ", every " + format_duration(view.interval); }
  return text + ", on " + snapshot.location;
}

constexpr std::string_view keys_text = "q quit  p pause  s order  arrows select  space now  h help";

const std::vector<std::string> help_lines = {
    "q, Ctrl-C     quit",
    "p             pause the view; p again continues",
    "space         refresh now",
    "s, S          order by name, ready, oldest, running, dead, rate, failing; S back",
    "up, down      select a queue (also k, j); first and last: Home, End (also g, G)",
    "+, -          refresh more, or less, often",
    "h, ?          show this help; any key closes it",
    "",
    ("READY waits for a worker; OLDEST is the longest such wait. DELAYED is due later."),
    ("PARKED waits behind its key. DEAD: dead letters. Rates come with heartbeats."),
};

}  // namespace

std::vector<std::string> snapshot_lines(const TopSnapshot& snapshot, const TopView& view) {
  const Terminal& terminal = output_terminal();
  const auto cut = [&view](const std::string& text) {
    return fit(base::printable(text), std::max<std::size_t>(view.columns, 1));
  };
  std::vector<std::string> lines;
  lines.push_back(paint(terminal, Style::bold, cut(title_line(snapshot, view))));
  lines.push_back(cut(totals_line(snapshot)));
  if (view.paused) { lines.push_back(paint(terminal, Style::warn, cut("paused: p to go on"))); }
  if (!view.trouble.empty()) { lines.push_back(paint(terminal, Style::bad, cut(view.trouble))); }
  lines.emplace_back();
  if (view.help) {
    for (const std::string& line : help_lines) { lines.push_back(cut(line)); }
  } else {
    // Three tables, two gaps, their titles and a last line share the lines left. Queues get the lines that the other
    // tables leave.
    const std::size_t fixed = lines.size() + 2 + 3 + 2;
    const std::size_t room = view.rows == 0 ? SIZE_MAX / 4 : (view.rows > fixed ? view.rows - fixed : 0);
    const std::size_t for_failures = std::min(snapshot.failures.size(), std::max(room / 4, std::min(room, least_rows)));
    const std::size_t for_sessions = std::min(snapshot.sessions.size(), std::max(room / 4, std::min(room, least_rows)));
    const std::size_t used = for_failures + for_sessions;
    const std::size_t for_queues = room > used ? room - used : std::min(room, std::size_t{1});
    const auto add = [&lines](const std::vector<std::string>& more) {
      lines.insert(lines.end(), more.begin(), more.end());
    };
    add(queue_lines(snapshot.queues, view, std::max<std::size_t>(for_queues, 1)));
    lines.emplace_back();
    add(session_lines(snapshot, view, for_sessions));
    lines.emplace_back();
    add(failure_lines(snapshot, view, for_failures));
  }
  if (view.rows > 0) {
    lines.resize(std::min(lines.size(), view.rows - 1));
    lines.resize(view.rows - 1);
    lines.push_back(paint(terminal, Style::dim, cut(std::string(keys_text))));
  }
  return lines;
}

}  // namespace hapax::cli
