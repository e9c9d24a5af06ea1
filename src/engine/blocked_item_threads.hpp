// LoneThreads: runs a few pieces of work that may block, each on a thread of its own.
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

class LoneThreads {
 public:
  LoneThreads() = default;
  LoneThreads(const LoneThreads&) = delete;
  LoneThreads& operator=(const LoneThreads&) = delete;
  ~LoneThreads() {
    for (Lone& lone : lone_) { lone.thread.join(); }
  }

  // Runs `work` on a thread of its own or, when there are lone_max already, on this one.
  void run(std::function<void()> work) {
    std::erase_if(lone_, [](Lone& lone) {
      if (!lone.ended->load()) { return false; }
      lone.thread.join();
      return true;
    });
    if (lone_.size() >= lone_max) {
      work();
      return;
    }
    const auto ended = std::make_shared<std::atomic<bool>>(false);
    lone_.push_back({std::thread([work = std::move(work), ended] {
                       mark_engine_thread();
                       work();
                       ended->store(true);
                     }),
                     ended});
  }

 private:
  static constexpr std::size_t lone_max = 64;

  struct Lone {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };
  std::vector<Lone> lone_;
};

}  // namespace hapax::engine
