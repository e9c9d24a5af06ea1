// Batcher: group commit. Concurrent callers hand in requests; one store call is made for all that wait.
//
// Turn: one thread at a time has the right to make the next call. A blocking caller that finds no call under way makes
// its call at once, on its own thread. Requests that arrive during a call join the next batch; that batch's first
// blocking member leads it (gets the turn). A background thread, started when first needed, leads batches of
// asynchronous members only.
//
// Gathering: callers in a loop would split into two halves, one waiting while the other's call is under way. So a
// leader first waits for the callers that the last call answered, at most a quarter of that call's time and 200 us:
// eight callers then share every sync, not every second one. If fewer than half of them come back, the next leaders do
// not wait. Asynchronous callers (a server's connections) come back later, as their answers travel over the network.
// The background thread waits for them up to 1 ms if the last call mostly waited too, for a disk or another machine: a
// second call would wait as long again. If that call mostly used the processor, the next one starts sooner.
//
// Second call: where the store serves two calls at once (Options::beside), asynchronous members get a call beside the
// turn's once enough of them wait; otherwise half of the connections would wait for the other half. Blocking callers
// all come back before the next call, so one call for all of them is better.
//
// Errors: StoreUnavailable goes to every member of the batch. Any other error may be one request's fault, so each
// member is then sent alone and cannot fail its neighbours: a blocking member on its own thread, asynchronous members
// on the callback thread, and a member that fails there again on a thread of its own. Answers come only after the call
// returned.
#pragma once

#include <hapax/error.hpp>

#include "base/futex.hpp"
#include "engine/blocked_item_threads.hpp"
#include "engine/serial_executor.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::engine {

// Any thread may call it while it lives. The destructor answers the asynchronous members that still wait.
template <class Request, class Reply>
class Batcher {
 public:
  using Callback = std::function<void(Reply, std::exception_ptr)>;

  struct Options {
    // The store call: one reply per request, in order.
    std::function<std::vector<Reply>(std::span<Request>)> flush;
    // For a request that goes alone, as its batch failed or a lock blocked it; empty: flush. This call may block.
    std::function<std::vector<Reply>(std::span<Request>)> flush_alone;
    // Called after a successful call, before its members are answered; the next call may already be under way.
    // Exceptions are dropped, as the requests have taken effect.
    std::function<void(std::span<Request>, std::span<Reply>)> flushed;
    std::function<std::size_t(const Request&)> size;  // in bytes
    bool beside = false;  // asynchronous members may get a second call while another is under way
    // Whether a request may go only in the turn's call, because it could block a call beside it for long; empty: none.
    std::function<bool(const Request&)> in_turn;
    std::size_t max_items = 1000;
    std::size_t max_bytes = 8 << 20;
    Duration burst_max = std::chrono::milliseconds(1);  // the longest that a call waits for the end of a Burst
  };

  explicit Batcher(Options options) : options_(std::move(options)) {}
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  ~Batcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    background_condition_.notify_one();
    beside_condition_.notify_one();
    if (background_.joinable()) { background_.join(); }
    if (beside_thread_.joinable()) { beside_thread_.join(); }
    answers_.reset();
    lone_.reset();
  }

  // While a Burst lives, more asynchronous requests are about to arrive. A call that has no blocking member waits for
  // the end of the burst, at most Options::burst_max.
  class Burst {
   public:
    explicit Burst(Batcher& batcher) : batcher_(batcher) {
      const std::lock_guard lock(batcher_.mutex_);
      if (batcher_.bursts_++ == 0) { batcher_.burst_until_ = engine_now() + batcher_.options_.burst_max; }
    }
    ~Burst() { batcher_.end_burst(); }
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;

   private:
    Batcher& batcher_;
  };

  [[nodiscard]] Reply submit(Request request) {
    std::unique_lock lock(mutex_);
    const bool idle = !busy_;
    busy_ = true;
    if (idle && !worth_waiting(gather_until_)) {
      lock.unlock();
      return run_single(request);
    }
    const auto [batch, index] = join(std::move(request));
    const bool lead = !batch->has_leader;
    batch->has_leader = true;
    if (bursts_ > 0) { burst_over_.notify_one(); }
    lock.unlock();
    if (lead) {
      if (!idle) { batch->turn.wait_while(waiting); }
      if (idle || batch->turn.load() == go) { run(take_front(Lane::caller), Lane::caller); }
    } else {
      batch->done.wait_while(waiting);
    }
    if (batch->done.load() == alone) { return run_alone(batch->requests[index]); }
    if (batch->error) { std::rethrow_exception(batch->error); }
    return std::move(batch->replies[index]);
  }

  void submit_async(Request request, Callback callback) {
    std::condition_variable* signal = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (stopping_) {
        lock.unlock();
        callback(Reply{}, std::make_exception_ptr(ShuttingDown()));
        return;
      }
      // Threads start before the request is queued, so an exception here has changed nothing.
      if (!background_.joinable()) {
        background_ = std::thread([this] { background_loop(); });
      }
      if (options_.beside && !beside_thread_.joinable()) {
        beside_thread_ = std::thread([this] { beside_loop(); });
      }
      const auto [batch, index] = join(std::move(request));
      batch->callbacks.emplace_back(index, std::move(callback));
      if (!busy_) {
        busy_ = true;
        background_turn_ = true;
        signal = &background_condition_;
      } else if (!waits_for_burst() && may_go_beside()) {
        beside_ = pop_front();
        signal = &beside_condition_;
      }
    }
    if (signal != nullptr) { signal->notify_one(); }
  }

 private:
  using Word = base::FutexWord;
  static constexpr std::uint32_t waiting = 0;
  static constexpr std::uint32_t go = 1;     // turn: lead the front batch
  static constexpr std::uint32_t over = 2;   // turn or done: the batch is answered
  static constexpr std::uint32_t alone = 3;  // done: each member goes alone

  struct Batch {
    std::vector<Request> requests;
    std::vector<Reply> replies;
    std::vector<std::pair<std::size_t, Callback>> callbacks;
    std::exception_ptr error;
    std::size_t bytes = 0;
    bool has_leader = false;  // guarded by mutex_
    bool in_turn = false;     // guarded by mutex_; the batch goes only in the turn's call
    Word turn{waiting};       // the leader sleeps on it
    Word done{waiting};       // the other blocking members sleep on it
  };
  using BatchPtr = std::shared_ptr<Batch>;

  // The thread that makes a call: a caller or the background thread in its turn, or the thread for calls beside the
  // turn's.
  enum class Lane : std::uint8_t { caller, background, beside };

  // Holding mutex_.
  std::pair<BatchPtr, std::size_t> join(Request request) {
    const std::size_t bytes = options_.size ? options_.size(request) : 0;
    if (queue_.empty() || queue_.back()->requests.size() >= options_.max_items ||
        queue_.back()->bytes + bytes > options_.max_bytes) {
      queue_.push_back(std::make_shared<Batch>());
      // Room for as many as last time: requests are large to move, and other callers wait for this lock.
      queue_.back()->requests.reserve(std::min(expected_, room_max));
    }
    BatchPtr batch = queue_.back();
    batch->bytes += bytes;
    batch->in_turn = batch->in_turn || (options_.in_turn && options_.in_turn(request));
    batch->requests.push_back(std::move(request));
    if (gathering_ && queue_.front()->requests.size() >= wanted_) { gathered_.notify_one(); }
    return {batch, batch->requests.size() - 1};
  }

  // Holding mutex_.
  BatchPtr pop_front() {
    BatchPtr batch = std::move(queue_.front());
    queue_.pop_front();
    return batch;
  }

  // Holding mutex_: whether a call is under way and enough asynchronous members wait for a second one.
  [[nodiscard]] bool may_go_beside() const {
    return options_.beside && under_way_ > 0 && !beside_ && beside_pause_ == 0 && !queue_.empty() &&
           !queue_.front()->has_leader && !queue_.front()->in_turn && queue_.front()->requests.size() >= worth_a_call_;
  }

  // Holding mutex_: whether callers that the last call answered may still be on their way back.
  [[nodiscard]] bool worth_waiting(Time until) {
    if (expected_ <= 1 || engine_now() >= until) { return false; }
    if (fruitless_left_ > 0) {
      --fruitless_left_;
      return false;
    }
    return true;
  }

  // Called once a turn, by the thread that has it.
  BatchPtr take_front(Lane lane) {
    const bool background = lane == Lane::background;
    std::unique_lock lock(mutex_);
    if (background && waits_for_burst()) {
      burst_over_.wait_for(lock, burst_until_ - engine_now(), [this] { return stopping_ || !waits_for_burst(); });
    }
    const Time until = background ? gather_async_until_ : gather_until_;
    wanted_ = background && options_.beside ? std::min(expected_, worth_a_call_) : expected_;
    if (queue_.front()->requests.size() < wanted_ && worth_waiting(until)) {
      const std::size_t before = queue_.front()->requests.size();
      gathering_ = true;
      const auto left = until - engine_now();
      gathered_.wait_for(lock, std::max(left, Duration::zero()),
                         [this] { return stopping_ || queue_.front()->requests.size() >= wanted_; });
      gathering_ = false;
      if (2 * (queue_.front()->requests.size() - before) >= std::min(answered_, wanted_ - before)) {
        fruitless_ = 0;
      } else {
        fruitless_ = std::min(background ? fruitless_async_max : fruitless_max, 2 * fruitless_ + 4);
        fruitless_left_ = fruitless_;
      }
    }
    BatchPtr batch = pop_front();
    under_way_ = batch->requests.size();
    call_began_ = engine_now();
    return batch;
  }

  // Holding mutex_: whether a burst is still adding to the front batch, which has room and no blocking member.
  [[nodiscard]] bool waits_for_burst() const {
    return bursts_ > 0 && engine_now() < burst_until_ && queue_.size() < 2 &&
           (queue_.empty() || !queue_.front()->has_leader);
  }

  void end_burst() {
    const bool goes_beside = [this] {
      const std::lock_guard lock(mutex_);
      if (--bursts_ > 0 || !may_go_beside()) { return false; }
      beside_ = pop_front();
      return true;
    }();
    if (goes_beside) { beside_condition_.notify_one(); }
    burst_over_.notify_one();
  }

  // Holding mutex_, after a call: how many recent callers there are; a quarter of them is worth a second call.
  void weigh(std::size_t answered) {
    const std::size_t present = answered + (queue_.empty() ? 0 : queue_.front()->requests.size()) + under_way_ +
                                (beside_ ? beside_->requests.size() : 0);
    population_ = std::max(present, population_ - population_ / 8);
    worth_a_call_ = std::max<std::size_t>(2, population_ / share_of_a_call);
  }

  // Hands the turn to the next batch's leader. The leader takes the batch only when it is awake, so requests that
  // arrive meanwhile still join. `idle`: how long the call waited without using the processor.
  void pass_on(std::size_t answered, Duration idle = Duration::zero()) {
    BatchPtr next;
    {
      const std::lock_guard lock(mutex_);
      const Time now = engine_now();
      answered_ = answered;
      under_way_ = 0;
      if (options_.beside) { weigh(answered); }
      if (beside_pause_ > 0) { --beside_pause_; }
      expected_ = std::min(options_.max_items, answered + (queue_.empty() ? 0 : queue_.front()->requests.size()));
      gather_until_ = now + std::min((now - call_began_) / 4, gather_max);
      gather_async_until_ = std::max(gather_until_, now + std::min(idle, gather_async_max));
      if (queue_.empty()) {
        busy_ = false;
        return;
      }
      if (queue_.front()->has_leader) {
        next = queue_.front();
      } else {
        background_turn_ = true;
      }
    }
    if (next) {
      next->turn.set_and_wake_one(go);
    } else {
      background_condition_.notify_one();
    }
  }

  Reply run_single(Request& request) {
    std::vector<Reply> replies;
    call_began_ = engine_now();
    try {
      replies = options_.flush(std::span<Request>(&request, 1));
    } catch (const StoreUnavailable&) {
      pass_on(1);
      throw;
    } catch (...) {
      pass_on(1);
      if (!options_.flush_alone) { throw; }
      return run_alone(request);
    }
    pass_on(1);
    tell_flushed(std::span<Request>(&request, 1), replies);
    return std::move(replies.front());
  }

  // Runs without the turn.
  Reply run_alone(Request& request) {
    const auto& flush = options_.flush_alone ? options_.flush_alone : options_.flush;
    std::vector<Reply> replies = flush(std::span<Request>(&request, 1));
    tell_flushed(std::span<Request>(&request, 1), replies);
    return std::move(replies.front());
  }

  void tell_flushed(std::span<Request> requests, std::span<Reply> replies) noexcept {
    if (!options_.flushed) { return; }
    try {
      options_.flushed(requests, replies);
    } catch (...) { return; }
  }

  void run(const BatchPtr& batch, Lane lane) {
    const bool background = lane == Lane::background;
    std::uint32_t verdict = over;
    const Duration cpu_before = background ? thread_cpu_time() : Duration::zero();
    try {
      batch->replies = options_.flush(batch->requests);
    } catch (const StoreUnavailable&) { batch->error = std::current_exception(); } catch (...) {
      if (batch->requests.size() > 1 || options_.flush_alone) {
        verdict = alone;
      } else {
        batch->error = std::current_exception();
      }
    }
    Duration idle = Duration::zero();
    if (background) {
      const Duration took = engine_now() - call_began_;
      const Duration busy = thread_cpu_time() - cpu_before;
      // After more than a third of its time on the processor, the rest may have been a wait for the processor.
      if (3 * busy <= took) { idle = took - busy; }
    }
    if (verdict == alone) { pause_beside(); }
    if (lane == Lane::beside) {
      end_beside(batch->requests.size());
    } else {
      pass_on(batch->requests.size(), idle);
    }
    if (verdict == over && !batch->error) { tell_flushed(batch->requests, batch->replies); }
    batch->done.set_and_wake_all(verdict);
    if (background) { batch->turn.set_and_wake_one(over); }
    if (!batch->callbacks.empty()) {
      answers_->post([this, batch, verdict] { answer_callbacks(batch, verdict); });
    }
  }

  // Runs on the thread of answers_.
  void answer_callbacks(const BatchPtr& batch, std::uint32_t verdict) {
    for (auto& [index, callback] : batch->callbacks) {
      if (batch->error) {
        answer(callback, Reply{}, batch->error);
      } else if (verdict == over) {
        answer(callback, std::move(batch->replies[index]), nullptr);
      } else {
        answer_alone(batch, index, callback);
      }
    }
  }

  static void answer(const Callback& callback, Reply reply, const std::exception_ptr& error) {
    try {
      callback(std::move(reply), error);
    } catch (...) {
      return;  // the callback's own failure; the other members are still answered
    }
  }

  // Sends one asynchronous member alone; if that fails too (a lock blocks it), on a thread where it may block.
  void answer_alone(const BatchPtr& batch, std::size_t index, const Callback& callback) {
    Request& request = batch->requests[index];
    const auto finish_alone = [this, batch, index, callback] {
      Reply reply{};
      std::exception_ptr error;
      try {
        reply = run_alone(batch->requests[index]);
      } catch (...) { error = std::current_exception(); }
      answer(callback, std::move(reply), error);
    };
    try {
      std::vector<Reply> replies = options_.flush(std::span<Request>(&request, 1));
      tell_flushed(std::span<Request>(&request, 1), replies);
      answer(callback, std::move(replies.front()), nullptr);
    } catch (const StoreUnavailable&) { answer(callback, Reply{}, std::current_exception()); } catch (...) {
      if (!options_.flush_alone) {
        answer(callback, Reply{}, std::current_exception());
      } else {
        lone_->run(finish_alone);
      }
    }
  }

  void background_loop() {
    mark_engine_thread();
    std::unique_lock lock(mutex_);
    while (true) {
      background_condition_.wait(lock, [this] { return stopping_ || background_turn_; });
      if (!background_turn_) { return; }
      background_turn_ = false;
      lock.unlock();
      run(take_front(Lane::background), Lane::background);
      lock.lock();
    }
  }

  void beside_loop() {
    mark_engine_thread();
    std::unique_lock lock(mutex_);
    while (true) {
      beside_condition_.wait(lock, [this] { return stopping_ || beside_; });
      if (!beside_) { return; }
      const BatchPtr batch = beside_;
      lock.unlock();
      run(batch, Lane::beside);
      lock.lock();
    }
  }

  // After a failure the next calls go one at a time: two calls for the same identity would block each other.
  void pause_beside() {
    const std::lock_guard lock(mutex_);
    beside_pause_ = beside_pause_calls;
  }

  // Ends a call beside the turn's and starts the next one if it is worth it.
  void end_beside(std::size_t answered) {
    const std::lock_guard lock(mutex_);
    beside_.reset();
    weigh(answered);
    if (may_go_beside()) { beside_ = pop_front(); }
  }

  static constexpr Duration gather_max = std::chrono::microseconds(200);
  static constexpr Duration gather_async_max = std::chrono::milliseconds(1);
  static constexpr int fruitless_max = 64;
  static constexpr int fruitless_async_max = 3;
  static constexpr std::size_t share_of_a_call = 4;
  static constexpr int beside_pause_calls = 64;
  static constexpr std::size_t room_max = 256;

  Options options_;
  std::mutex mutex_;
  std::deque<BatchPtr> queue_;  // requests join the last batch
  bool busy_ = false;           // a thread has the turn
  bool stopping_ = false;
  bool background_turn_ = false;
  int bursts_ = 0;
  Time burst_until_{};  // the latest end of the burst
  std::condition_variable burst_over_;
  std::condition_variable background_condition_;
  std::thread background_;
  BatchPtr beside_;  // the batch of the call beside the turn's
  std::condition_variable beside_condition_;
  std::thread beside_thread_;
  std::unique_ptr<SerialExecutor> answers_ = std::make_unique<SerialExecutor>();
  std::unique_ptr<LoneThreads> lone_ = std::make_unique<LoneThreads>();  // used by the thread of answers_ only
  // About the last call. Guarded by mutex_, except call_began_, which belongs to the thread that has the turn.
  Time call_began_{};
  std::size_t answered_ = 0;  // members of the last call
  std::size_t expected_ = 0;  // those and the requests that waited when it ended
  Time gather_until_{};
  Time gather_async_until_{};
  bool gathering_ = false;  // a leader is waiting for more members
  std::size_t wanted_ = 0;  // the number of members it waits for
  std::condition_variable gathered_;
  int fruitless_ = 0;  // how many leaders skip the wait after one waited in vain
  int fruitless_left_ = 0;
  // For calls beside the turn's; guarded by mutex_.
  std::size_t under_way_ = 0;     // members of the turn's call
  std::size_t population_ = 0;    // recent callers, answered or waiting
  std::size_t worth_a_call_ = 2;  // members that make a second call worth it
  int beside_pause_ = 0;          // calls of the turn until a second call is allowed again
};

}  // namespace hapax::engine
