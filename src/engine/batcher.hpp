// Batcher: group commit. Concurrent callers hand in requests; one store call is made for all that wait.
//
// Requests queue up in batches. One thread at a time has the turn: the right to make the next call. A blocking caller
// that finds no call under way makes its call at once, on its own thread. Requests that arrive during a call join the
// next batch; that batch's first blocking caller leads it (gets the turn). A background thread leads batches of
// asynchronous requests only; it starts when first needed. When a batch goes is BatchPolicy's decision
// (batch_policy.hpp).
//
// Errors: StoreUnavailable goes to every member of the batch. Any other error may be one request's fault, so each
// member is then sent alone and cannot make the other members fail: a blocking member on its own thread, asynchronous
// members as batch_answers.hpp says. Answers come only after the call returned.
#pragma once

#include <hapax/error.hpp>

#include "base/futex.hpp"
#include "base/plain_path.hpp"
#include "engine/batch_answers.hpp"
#include "engine/batch_policy.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
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

// Any thread may call a Batcher. The destructor answers the asynchronous members that still wait.
template <class Request, class Reply>
class Batcher {
 public:
  using Callback = std::function<void(Reply, std::exception_ptr)>;

  struct Options {
    // The store call: one reply per request, in order.
    std::function<std::vector<Reply>(std::span<Request>)> flush;
    // For a request that goes alone, because its batch failed or a lock blocked the request; empty: flush. This call
    // may block.
    std::function<std::vector<Reply>(std::span<Request>)> flush_alone{};
    // Called after a successful call, before its members are answered; the next call may already be under way.
    // Exceptions are dropped, as the requests have taken effect.
    std::function<void(std::span<Request>, std::span<Reply>)> flushed{};
    std::function<std::size_t(const Request&)> size{};  // in bytes
    std::size_t max_bytes = 8 << 20;
    BatchPolicy::Options policy{};
  };

  explicit Batcher(Options options) : options_(std::move(options)), policy_(options_.policy) {
    answers_ = std::make_unique<BatchAnswers<Request, Reply>>(typename BatchAnswers<Request, Reply>::Calls{
        .once = [this](Request& request) { return call_for_one(request, options_.flush); },
        .alone = options_.flush_alone ? [this](Request& request) { return call_alone(request); }
                                      : std::function<Reply(Request&)>()});
  }
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  ~Batcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    leader_condition_.notify_one();
    background_condition_.notify_one();
    if (background_.joinable()) { background_.join(); }
    answers_.reset();
  }

  // While a Burst lives, more asynchronous requests are about to arrive.
  class Burst {
   public:
    explicit Burst(Batcher& batcher) : batcher_(batcher) {
      const std::lock_guard lock(batcher_.mutex_);
      batcher_.policy_.burst_began(engine_now());
    }
    ~Burst() {
      const std::lock_guard lock(batcher_.mutex_);
      batcher_.policy_.burst_ended();
      batcher_.wake_waiting_leader();
    }
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;

   private:
    Batcher& batcher_;
  };

  [[nodiscard]] Reply submit(Request request) {
    std::unique_lock lock(mutex_);
    const bool idle = !std::exchange(busy_, true);
    if (idle && goes_now()) {
      policy_.began();
      lock.unlock();
      return run_single(request);
    }
    const auto [batch, index] = join(std::move(request));
    const bool is_leader = !std::exchange(batch->has_caller, true);
    wake_waiting_leader();
    lock.unlock();
    if (!is_leader) {
      batch->done.wait_while(waits);
    } else {
      if (!idle) { batch->turn.wait_while(waits); }
      if (idle || batch->turn.load() == leads) {
        run(take_front(BatchPolicy::Leader::caller), BatchPolicy::Leader::caller);
      }
    }
    if (batch->done.load() == alone) { return call_alone(batch->requests[index]); }
    if (batch->error) { std::rethrow_exception(batch->error); }
    return std::move(batch->replies[index]);
  }

  void submit_async(Request request, Callback callback) {
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      callback(Reply{}, std::make_exception_ptr(ShuttingDown()));
      return;
    }
    start_background();  // before the request is queued, so that an exception here has changed nothing
    const auto [batch, index] = join(std::move(request));
    batch->members.push_back({index, std::move(callback)});
    wake_waiting_leader();
    if (!std::exchange(busy_, true)) {
      background_turn_ = true;
      lock.unlock();
      background_condition_.notify_one();
    }
  }

 private:
  // States of a batch; its members sleep until the state changes.
  static constexpr std::uint32_t waits = 0;
  static constexpr std::uint32_t leads = 1;     // the leading member makes the call now
  static constexpr std::uint32_t answered = 2;  // replies or error are there
  static constexpr std::uint32_t alone = 3;     // each member goes alone

  struct Batch {
    std::vector<Request> requests;
    std::vector<Reply> replies;
    std::vector<AsyncMember<Reply>> members;
    std::exception_ptr error;
    std::size_t bytes = 0;
    bool has_caller = false;      // guarded by mutex_
    base::FutexWord turn{waits};  // the leading member sleeps on it
    base::FutexWord done{waits};  // the other blocking members sleep on it
  };
  using BatchPtr = std::shared_ptr<Batch>;

  static constexpr std::size_t room_max = 256;

  // The caller holds mutex_, for all functions from here to take_front().
  std::pair<BatchPtr, std::size_t> join(Request request) {
    const std::size_t bytes = options_.size ? options_.size(request) : 0;
    if (queue_.empty() || queue_.back()->requests.size() >= options_.policy.max_items ||
        queue_.back()->bytes + bytes > options_.max_bytes) {
      queue_.push_back(std::make_shared<Batch>());
      // Room for as many as last time: requests are large to move, and other callers wait for this lock.
      static const bool plain = base::takes_plain_path("batch-reserve");
      if (!plain) { queue_.back()->requests.reserve(std::min(policy_.expected(), room_max)); }
    }
    BatchPtr batch = queue_.back();
    batch->bytes += bytes;
    batch->requests.push_back(std::move(request));
    return {batch, batch->requests.size() - 1};
  }

  [[nodiscard]] WaitingBatch waiting() const {
    if (queue_.empty()) { return {}; }
    const Batch& front = *queue_.front();
    return {front.requests.size(), front.has_caller, queue_.size() > 1};
  }

  // Whether a caller that finds no call under way need not wait for others.
  [[nodiscard]] bool goes_now() {
    const Time now = engine_now();
    return policy_.wait_until(BatchPolicy::Leader::caller, {.items = 1, .has_caller = true}, now) <= now;
  }

  void wake_waiting_leader() {
    if (leader_waits_ && policy_.enough(waiting())) { leader_condition_.notify_one(); }
  }

  void start_background() {
    if (!background_.joinable()) {
      background_ = std::thread([this] { background_loop(); });
    }
  }

  // Called once a turn, by the thread that has the turn. Requests that arrive until the leader is awake still join.
  BatchPtr take_front(BatchPolicy::Leader leader) {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const Time now = engine_now();
      const Time until = policy_.wait_until(leader, waiting(), now);
      if (until <= now) { break; }
      leader_waits_ = true;
      leader_condition_.wait_for(lock, until - now, [this] { return stopping_ || policy_.enough(waiting()); });
      leader_waits_ = false;
    }
    BatchPtr batch = std::move(queue_.front());
    queue_.pop_front();
    policy_.began();
    return batch;
  }

  void run(const BatchPtr& batch, BatchPolicy::Leader leader) {
    BatchCall call{.items = batch->requests.size(), .began = engine_now()};
    std::uint32_t state = answered;
    try {
      batch->replies = options_.flush(batch->requests);
    } catch (const StoreUnavailable&) { batch->error = std::current_exception(); } catch (...) {
      if (batch->requests.size() > 1 || options_.flush_alone) {
        state = alone;
      } else {
        batch->error = std::current_exception();
      }
    }
    call.ended = engine_now();
    pass_on(call);
    if (state == answered && !batch->error) { tell_flushed(batch->requests, batch->replies); }
    batch->done.set_and_wake_all(state);
    if (leader == BatchPolicy::Leader::background) { batch->turn.set_and_wake_one(answered); }
    if (batch->members.empty()) { return; }
    if (state == answered) {
      answers_->answer(batch);
    } else {
      answers_->send_each(batch);
    }
  }

  // A batch of one blocking caller.
  Reply run_single(Request& request) {
    std::vector<Reply> replies;
    BatchCall call{.items = 1, .began = engine_now()};
    const auto end = [&] {
      call.ended = engine_now();
      pass_on(call);
    };
    try {
      replies = options_.flush(std::span<Request>(&request, 1));
    } catch (const StoreUnavailable&) {
      end();
      throw;
    } catch (...) {
      end();
      if (!options_.flush_alone) { throw; }
      return call_alone(request);
    }
    end();
    tell_flushed(std::span<Request>(&request, 1), replies);
    return std::move(replies.front());
  }

  // Sends one request; the calling thread does not have the turn.
  Reply call_alone(Request& request) {
    return call_for_one(request, options_.flush_alone ? options_.flush_alone : options_.flush);
  }

  Reply call_for_one(Request& request, const std::function<std::vector<Reply>(std::span<Request>)>& flush) {
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

  // Hands the turn to the next batch's leader.
  void pass_on(const BatchCall& call) {
    BatchPtr next;
    {
      const std::lock_guard lock(mutex_);
      policy_.ended(call, waiting());
      if (queue_.empty()) {
        busy_ = false;
        return;
      }
      if (queue_.front()->has_caller) {
        next = queue_.front();
      } else {
        background_turn_ = true;
      }
    }
    if (next) {
      next->turn.set_and_wake_one(leads);
    } else {
      background_condition_.notify_one();
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
      run(take_front(BatchPolicy::Leader::background), BatchPolicy::Leader::background);
      lock.lock();
    }
  }

  Options options_;
  std::mutex mutex_;
  BatchPolicy policy_;          // guarded by mutex_, as are the members below
  std::deque<BatchPtr> queue_;  // requests join the last batch
  bool busy_ = false;           // a thread has the turn
  bool stopping_ = false;
  bool leader_waits_ = false;
  std::condition_variable leader_condition_;
  bool background_turn_ = false;
  std::condition_variable background_condition_;
  std::thread background_;
  std::unique_ptr<BatchAnswers<Request, Reply>> answers_;
};

}  // namespace hapax::engine
