#include "engine/pool.hpp"

#include "base/plain_path.hpp"
#include "base/random.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hapax::engine {

namespace {

constexpr std::size_t chunk_max = 64;
// A chunk holds at most this much running time, so that a thread soon finishes the chunk.
constexpr double chunk_seconds = 0.001;
// Waking another thread pays off only for more work than this.
constexpr double wake_seconds = 0.00005;
constexpr Duration slow_handler = std::chrono::milliseconds(5);
// Outcomes of quicker handlers are announced together, at the end of the chunk.
constexpr Duration tell_at_once = std::chrono::microseconds(100);
constexpr int stuck_per_thread = 4;

double jitter_draw() {
  thread_local base::SystemRandom random;
  return random.fraction();
}

}  // namespace

ThreadPool::ThreadPool(Options options) : options_(std::move(options)) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::start() {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < options_.threads; ++i) { add_thread(); }
}

void ThreadPool::set_callbacks(std::function<void(const RunPtr&)> on_start, std::function<void()> on_settled) {
  options_.on_start = std::move(on_start);
  options_.on_settled = std::move(on_settled);
}

void ThreadPool::add_thread() {
  auto thread = std::make_shared<HandlerThread>();
  thread->handle = std::thread([self = shared_from_this(), thread] { self->loop(thread); });
  threads_.push_back(std::move(thread));
}

void ThreadPool::stop(Time until) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  work_.notify_all();
  const auto all_ended = [this] {
    const bool leave_stuck = leave_stuck_.load(std::memory_order_relaxed);
    return std::ranges::all_of(threads_, [leave_stuck](const HandlerThreadPtr& thread) {
      const std::lock_guard thread_lock(thread->mutex);
      return thread->ended || (leave_stuck && thread->surplus);
    });
  };
  ended_.wait_for(lock, std::max(until - engine_now(), Duration::zero()), all_ended);
  std::vector<std::thread> finished;
  for (const HandlerThreadPtr& thread : threads_) {
    const std::lock_guard thread_lock(thread->mutex);
    if (!thread->handle.joinable()) { continue; }
    if (thread->ended) {
      finished.push_back(std::move(thread->handle));
    } else {
      thread->handle.detach();
    }
  }
  lock.unlock();
  for (std::thread& thread : finished) { thread.join(); }
}

void ThreadPool::submit(std::vector<RunPtr> runs) {
  if (runs.empty()) { return; }
  {
    const std::lock_guard lock(mutex_);
    for (RunPtr& run : runs) { queue_.push_back(std::move(run)); }
  }
  // Waking one thread is enough: a thread that takes a chunk and leaves work worth another thread wakes the next.
  work_.notify_one();
}

void ThreadPool::loop(const HandlerThreadPtr& thread) {
  while (RunPtr run = next(*thread)) { execute(*thread, run); }
  {
    const std::lock_guard lock(mutex_);
    const std::lock_guard thread_lock(thread->mutex);
    thread->ended = true;
    for (RunPtr& run : thread->todo) { queue_.push_back(std::move(run)); }
    thread->todo.clear();
    if (thread->surplus) {
      --stuck_;
      // A replaced thread leaves the list; its outcomes move to pushed_.
      for (Settled& settled : thread->done) { pushed_.push_back(std::move(settled)); }
      thread->done.clear();
      if (thread->handle.joinable()) { thread->handle.detach(); }
      std::erase(threads_, thread);
    }
  }
  ended_.notify_all();
}

RunPtr ThreadPool::next(HandlerThread& thread) {
  {
    const std::lock_guard thread_lock(thread.mutex);
    if (thread.surplus) { return nullptr; }
    if (!thread.todo.empty() && !holding_.load(std::memory_order_relaxed)) {
      RunPtr run = std::move(thread.todo.front());
      thread.todo.pop_front();
      thread.current = run;
      return run;
    }
  }
  std::unique_lock lock(mutex_);
  while (queue_.empty() || holding_.load(std::memory_order_relaxed)) {
    if (stopping_) { return nullptr; }
    if (RunPtr stolen = holding_.load(std::memory_order_relaxed) ? nullptr : steal(thread)) {
      const std::lock_guard thread_lock(thread.mutex);
      thread.current = stolen;
      return stolen;
    }
    idle_.fetch_add(1, std::memory_order_relaxed);
    work_.wait(lock);
    idle_.fetch_sub(1, std::memory_order_relaxed);
  }
  static const bool plain = base::takes_plain_path("pool-chunks");
  RunPtr run = std::move(queue_.front());
  queue_.pop_front();
  const double average = average_.load(std::memory_order_relaxed);
  if (!plain && average > 0 && !queue_.empty()) {
    const double by_time = chunk_seconds / average;
    std::size_t chunk = std::min(by_time < chunk_max ? static_cast<std::size_t>(by_time) : chunk_max,
                                 queue_.size() / threads_.size() + 1);
    chunk = std::min(chunk, queue_.size());
    const std::lock_guard thread_lock(thread.mutex);
    for (std::size_t i = 0; i < chunk; ++i) {
      thread.todo.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    thread.current = run;
  } else {
    const std::lock_guard thread_lock(thread.mutex);
    thread.current = run;
  }
  const bool worth_waking = !queue_.empty() && idle_.load(std::memory_order_relaxed) > 0 &&
                            (average <= 0 || static_cast<double>(queue_.size()) * average > wake_seconds);
  lock.unlock();
  if (worth_waking) { work_.notify_one(); }
  return run;
}

// Takes the newest run that waits behind another thread's handler, when the queue is empty. The caller holds mutex_.
RunPtr ThreadPool::steal(const HandlerThread& thief) {
  for (const HandlerThreadPtr& thread : threads_) {
    if (thread.get() == &thief) { continue; }
    const std::unique_lock thread_lock(thread->mutex, std::try_to_lock);
    if (thread_lock.owns_lock() && !thread->todo.empty()) {
      RunPtr run = std::move(thread->todo.back());
      thread->todo.pop_back();
      return run;
    }
  }
  return nullptr;
}

void ThreadPool::execute(HandlerThread& thread, const RunPtr& run) {
  const Time start = engine_now();
  if (!run->start(start)) {
    const std::lock_guard thread_lock(thread.mutex);
    thread.current.reset();
    return;
  }
  if (options_.on_start) { options_.on_start(run); }
  Ending ending = run_handler(options_.handler, *run);
  const Duration ran_for = engine_now() - start;
  std::string own_result = ending.kind == Ending::Kind::settled ? ending.result : std::string();
  const bool ours = run->settle();
  std::optional<model::Finish> finish;
  if (ours) { finish = to_finish(*run, std::move(ending), {.ran_for = ran_for, .jitter = jitter_draw()}); }
  bool tell = false;
  {
    const std::lock_guard thread_lock(thread.mutex);
    thread.current.reset();
    thread.busy_seconds += std::chrono::duration<double>(ran_for).count();
    ++thread.runs;
    if (ours) { thread.done.push_back({run, std::move(finish), std::move(own_result)}); }
    tell = !thread.done.empty() && (thread.todo.empty() || ran_for > tell_at_once || thread.done.size() >= chunk_max);
  }
  if (tell) { options_.on_settled(); }
}

PoolLoad ThreadPool::glance() {
  const std::lock_guard lock(mutex_);
  PoolLoad load{.threads = options_.threads, .queued = static_cast<int>(queue_.size())};
  for (const HandlerThreadPtr& thread : threads_) {
    const std::lock_guard thread_lock(thread->mutex);
    load.queued += static_cast<int>(thread->todo.size());
    load.running += thread->current && !thread->surplus ? 1 : 0;
  }
  return load;
}

void ThreadPool::collect(std::vector<Settled>& into) {
  const std::lock_guard lock(mutex_);
  for (const HandlerThreadPtr& thread : threads_) {
    const std::lock_guard thread_lock(thread->mutex);
    std::ranges::move(thread->done, std::back_inserter(into));
    thread->done.clear();
  }
  std::ranges::move(pushed_, std::back_inserter(into));
  pushed_.clear();
}

void ThreadPool::withdraw(std::vector<RunPtr>& into) {
  const std::lock_guard lock(mutex_);
  for (const HandlerThreadPtr& thread : threads_) {
    const std::lock_guard thread_lock(thread->mutex);
    std::ranges::move(thread->todo, std::back_inserter(into));
    thread->todo.clear();
  }
  std::ranges::move(queue_, std::back_inserter(into));
  queue_.clear();
}

PoolLoad ThreadPool::load() {
  const std::lock_guard lock(mutex_);
  const Time now = engine_now();
  PoolLoad load{.threads = options_.threads, .queued = static_cast<int>(queue_.size())};
  double busy = 0;
  std::int64_t runs = 0;
  double average = average_.load(std::memory_order_relaxed);
  std::vector<double> elapsed;
  elapsed.reserve(threads_.size());
  const auto waits = [&](const std::deque<RunPtr>& queue) {
    if (!queue.empty() && (!load.oldest_queued || queue.front()->received < *load.oldest_queued)) {
      load.oldest_queued = queue.front()->received;
    }
  };
  waits(queue_);
  for (const HandlerThreadPtr& thread : threads_) {
    const std::lock_guard thread_lock(thread->mutex);
    load.queued += static_cast<int>(thread->todo.size());
    waits(thread->todo);
    busy += std::exchange(thread->busy_seconds, 0);
    runs += std::exchange(thread->runs, 0);
    if (thread->current && !thread->surplus) {
      ++load.running;
      if (thread->current->state() != Run::State::queued) {
        elapsed.push_back(std::chrono::duration<double>(now - thread->current->started()).count());
      }
    }
  }
  if (runs > 0) {
    // Never 0, which means unknown.
    const double mean = std::max(busy / static_cast<double>(runs), 1e-6);
    average = average <= 0 ? mean : average + (mean - average) * std::min(1.0, static_cast<double>(runs) / 16.0);
    average_.store(average, std::memory_order_relaxed);
  }
  if (average > 0) {
    // A thread in a long handler counts with the time of that handler, not with the average.
    const auto free = static_cast<double>(std::max(0, options_.threads - static_cast<int>(elapsed.size())));
    load.runs_per_second = free / average;
    for (const double seconds : elapsed) { load.runs_per_second += 1.0 / std::max(average, seconds); }
  }
  return load;
}

void ThreadPool::rebalance(Time now) {
  bool moved = false;
  {
    const std::lock_guard lock(mutex_);
    for (const HandlerThreadPtr& thread : threads_) {
      const std::lock_guard thread_lock(thread->mutex);
      if (thread->todo.empty() || !thread->current || thread->current->state() == Run::State::queued ||
          now - thread->current->started() < slow_handler) {
        continue;
      }
      while (!thread->todo.empty()) {
        queue_.push_front(std::move(thread->todo.back()));
        thread->todo.pop_back();
      }
      moved = true;
    }
  }
  if (moved) { work_.notify_one(); }
}

void ThreadPool::push(Settled settled) {
  {
    const std::lock_guard lock(mutex_);
    pushed_.push_back(std::move(settled));
  }
  options_.on_settled();
}

bool ThreadPool::replace(const Run& run) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || stuck_ >= stuck_per_thread * options_.threads) { return false; }
  for (const HandlerThreadPtr& thread : threads_) {
    {
      const std::lock_guard thread_lock(thread->mutex);
      if (thread->current.get() != &run || thread->surplus) { continue; }
      thread->surplus = true;
      while (!thread->todo.empty()) {
        queue_.push_front(std::move(thread->todo.back()));
        thread->todo.pop_back();
      }
    }
    ++stuck_;
    add_thread();
    return true;
  }
  return false;
}

}  // namespace hapax::engine
