// BatchAnswers: the callbacks of a Batcher's asynchronous members, on threads of their own, so that a slow callback
// delays no blocking caller.
//
// After a failed batch each member is sent alone on the callback thread; a member that a lock blocks there again is
// sent on a thread of its own, where the call may block.
#pragma once

#include <hapax/error.hpp>

#include "engine/blocked_item_threads.hpp"
#include "engine/serial_executor.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace hapax::engine {

// One asynchronous member of a batch: its place among the requests, and its callback.
template <class Reply>
struct AsyncMember {
  std::size_t index = 0;
  std::function<void(Reply, std::exception_ptr)> callback;
};

// Any thread may call a BatchAnswers. The destructor returns when all callbacks have run.
template <class Request, class Reply>
class BatchAnswers {
 public:
  struct Calls {
    std::function<Reply(Request&)> once;   // the call for one request
    std::function<Reply(Request&)> alone;  // the same call where it may block; empty: no second try
  };

  explicit BatchAnswers(Calls calls) : calls_(std::move(calls)) {}

  // Calls the callbacks of an answered batch. `batch` has `members`, `replies` and `error`.
  template <class Batch>
  void answer(std::shared_ptr<Batch> batch) {
    answers_.post([batch = std::move(batch)] {
      for (AsyncMember<Reply>& member : batch->members) {
        if (batch->error) {
          call(member, Reply{}, batch->error);
        } else {
          call(member, std::move(batch->replies[member.index]), nullptr);
        }
      }
    });
  }

  // Sends the members of a failed batch, each alone, and answers them.
  template <class Batch>
  void send_each(std::shared_ptr<Batch> batch) {
    answers_.post([this, batch = std::move(batch)] {
      for (AsyncMember<Reply>& member : batch->members) { send_one(batch, member); }
    });
  }

 private:
  static void call(const AsyncMember<Reply>& member, Reply reply, const std::exception_ptr& error) {
    try {
      member.callback(std::move(reply), error);
    } catch (...) {
      return;  // the callback's own failure; the other members are still answered
    }
  }

  template <class Batch>
  void send_one(const std::shared_ptr<Batch>& batch, const AsyncMember<Reply>& member) {
    const auto send = [batch, &member](const std::function<Reply(Request&)>& function) {
      Reply reply{};
      std::exception_ptr error;
      try {
        reply = function(batch->requests[member.index]);
      } catch (...) { error = std::current_exception(); }
      call(member, std::move(reply), error);
    };
    Reply reply{};
    try {
      reply = calls_.once(batch->requests[member.index]);
    } catch (const StoreUnavailable&) { return call(member, Reply{}, std::current_exception()); } catch (...) {
      if (!calls_.alone) { return call(member, Reply{}, std::current_exception()); }
      blocked_.run([this, send] { send(calls_.alone); });
      return;
    }
    call(member, std::move(reply), nullptr);
  }

  const Calls calls_;
  BlockedItemThreads blocked_;  // used by the thread of answers_, which ends first
  SerialExecutor answers_;
};

}  // namespace hapax::engine
