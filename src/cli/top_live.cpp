#include "cli/exit_code.hpp"
#include "cli/live_screen.hpp"
#include "cli/problem.hpp"
#include "cli/top.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace hapax::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration interval_min = std::chrono::milliseconds(250);
constexpr Duration interval_max = std::chrono::minutes(1);

// Reads snapshots on a thread of its own, so that keys work while the store does not answer.
class SnapshotReader {
 public:
  SnapshotReader(Backend& backend, const LiveScreen& screen)
      : backend_(backend), screen_(screen), thread_([this] { loop(); }) {}
  ~SnapshotReader() {
    end();
    if (thread_.joinable()) { thread_.join(); }
  }
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  // Requests a snapshot, unless a request is waiting already.
  void look() {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    condition_.notify_all();
  }

  struct News {
    std::optional<TopSnapshot> snapshot;
    std::string trouble;  // the error, if there is no snapshot
  };
  [[nodiscard]] std::optional<News> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, std::nullopt);
  }

  // Asks the thread to end. False if it has not ended within `at_most`, because the store does not answer.
  [[nodiscard]] bool ended_within(Duration at_most) {
    end();
    std::unique_lock lock(mutex_);
    return condition_.wait_for(lock, at_most, [this] { return ended_; });
  }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    condition_.notify_all();
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      condition_.wait(lock, [this] { return wanted_ || ending_; });
      if (ending_) { break; }
      wanted_ = false;
      lock.unlock();
      News news;
      try {
        news.snapshot = take_snapshot(backend_);
      } catch (const std::exception& error) {
        const Problem problem = problem_of(error);
        news.trouble = problem.name + ": " + problem.message;
      }
      lock.lock();
      news_ = std::move(news);
      screen_.wake();
    }
    ended_ = true;
    condition_.notify_all();
  }

  Backend& backend_;
  const LiveScreen& screen_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool wanted_ = false;
  bool ending_ = false;
  bool ended_ = false;
  std::optional<News> news_;
  std::thread thread_;
};

// Applies a key to the view. False for the key that quits.
bool press(int key, TopView& view, std::size_t queues) {
  constexpr auto orders = static_cast<int>(top_order_names.size());
  const auto turn = [&view](int by) {
    view.order = static_cast<TopOrder>((static_cast<int>(view.order) + by + orders) % orders);
  };
  const std::size_t last = queues == 0 ? 0 : queues - 1;
  view.selected = std::min(view.selected, last);
  if (view.help && key != 'q') {
    view.help = false;
    return true;
  }
  switch (key) {
    case 'q':
    case 'Q': return false;
    case 'p': view.paused = !view.paused; break;
    case 's': turn(1); break;
    case 'S': turn(-1); break;
    case 'h':
    case '?': view.help = true; break;
    case '+': view.interval = std::max(interval_min, view.interval / 2); break;
    case '-': view.interval = std::min(interval_max, view.interval * 2); break;
    case 'k':
    case LiveScreen::up: view.selected -= view.selecting && view.selected > 0 ? 1 : 0; break;
    case 'j':
    case LiveScreen::down: view.selected += view.selecting && view.selected < last ? 1 : 0; break;
    case 'g':
    case LiveScreen::home: view.selected = 0; break;
    case 'G':
    case LiveScreen::last: view.selected = last; break;
    default: return true;
  }
  const bool selects = key == 'k' || key == 'j' || key == 'g' || key == 'G' || key >= LiveScreen::up;
  view.selecting = view.selecting || selects;
  return true;
}

}  // namespace

int show_live(Shell& shell, Duration interval) {
  LiveScreen screen;
  Backend& backend = shell.backend();
  // Read before the screen is taken over, so that an error of the store is reported as by any command.
  TopSnapshot snapshot = take_snapshot(backend);
  TopView view;
  view.interval = interval;
  screen.enter();
  SnapshotReader looker(backend, screen);
  Steady::time_point next = Steady::now() + interval;
  bool changed = true;
  while (true) {
    if (std::optional<SnapshotReader::News> news = looker.take(); news && !view.paused) {
      if (news->snapshot) { snapshot = std::move(*news->snapshot); }
      view.trouble = news->trouble;
      changed = true;
    }
    if (changed) {
      view.columns = screen.columns();
      view.rows = screen.rows();
      screen.draw(snapshot_lines(snapshot, view));
      changed = false;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Steady::now());
    switch (screen.wait(left)) {
      case LiveScreen::Event::none:
        next = Steady::now() + view.interval;
        if (!view.paused) { looker.look(); }
        break;
      case LiveScreen::Event::key: {
        const bool was_paused = view.paused;
        if (!press(screen.key(), view, snapshot.queues.size())) {
          screen.leave();
          // The program does not wait for a read that hangs in the store, because nothing depends on it.
          if (!looker.ended_within(std::chrono::milliseconds(500))) { _exit(exit_ok); }
          return exit_ok;
        }
        if (screen.key() == ' ' || (was_paused && !view.paused)) { looker.look(); }
        next = std::min(next, Steady::now() + view.interval);
        changed = true;
        break;
      }
      case LiveScreen::Event::drawn: changed = true; break;
      case LiveScreen::Event::woken: break;
      case LiveScreen::Event::end:
        screen.leave();
        if (!looker.ended_within(std::chrono::milliseconds(500))) { _exit(exit_ok); }
        return exit_ok;
    }
  }
}

}  // namespace hapax::cli
