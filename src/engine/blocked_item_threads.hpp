// BlockedItemThreads: runs a few pieces of work that may block, each on a thread of its own.
//
// Used by one thread. The destructor returns when all of its threads have ended.
#pragma once

#include "engine/step_thread.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::engine {

class BlockedItemThreads {
 public:
  BlockedItemThreads() = default;
  BlockedItemThreads(const BlockedItemThreads&) = delete;
  BlockedItemThreads& operator=(const BlockedItemThreads&) = delete;
  ~BlockedItemThreads() {
    for (Blocked& blocked : threads_) { blocked.thread.join(); }
  }

  // Runs `work` on a thread of its own or, when there are threads_max already, on this one.
  void run(std::function<void()> work) {
    std::erase_if(threads_, [](Blocked& blocked) {
      if (!blocked.ended->load()) { return false; }
      blocked.thread.join();
      return true;
    });
    if (threads_.size() >= threads_max) {
      work();
      return;
    }
    const auto ended = std::make_shared<std::atomic<bool>>(false);
    threads_.push_back({std::thread([work = std::move(work), ended] {
                          mark_engine_thread();
                          work();
                          ended->store(true);
                        }),
                        ended});
  }

 private:
  static constexpr std::size_t threads_max = 64;

  struct Blocked {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };
  std::vector<Blocked> threads_;
};

}  // namespace hapax::engine
