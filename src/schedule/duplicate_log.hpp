// DuplicateLog: events whose run was there already, told by the run's ID (SPEC S2).
//
// One for the process, as its log is. Duplicates are told within a second, in one line for each activity that names the
// first of them and counts the others, so that a replay of millions does not drown the log. Any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::schedule {

class DuplicateLog {
 public:
  // Takes a line; called on another thread, one call at a time. Does not throw.
  using Listener = std::function<void(std::string_view line)>;

  // Never destroyed. Without a listener nothing is kept.
  [[nodiscard]] static DuplicateLog& of_process();

  void add(const std::string& ns, const std::string& activity, const std::string& run_id);

  // The listener is told while this lives, and of all that was added before its end.
  class Listening {
   public:
    explicit Listening(Listener listener) { of_process().listen(std::move(listener)); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() { of_process().listen({}); }
  };

 private:
  struct Duplicates {
    std::vector<std::string> run_ids;  // the first few
    std::int64_t count = 0;
  };

  void listen(Listener listener);
  void tell();
  [[nodiscard]] static std::string line_of(const std::string& ns, const std::string& activity,
                                           const Duplicates& duplicates);

  std::atomic<bool> is_heard_{false};
  std::mutex mutex_;  // guards what follows, and is held while the listener is told
  Listener listener_;
  std::map<std::pair<std::string, std::string>, Duplicates> untold_;  // by namespace and activity
};

}  // namespace hapax::schedule
