// DuplicateLog: logs the run IDs of duplicate events, whose run existed already.
//
// One per process. Duplicates are logged within a second, one line per activity. The line names the first 20 run IDs
// and counts the others, so that a replay of millions of events does not flood the log. Any thread may call.
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
  // Takes a line. Called on a background thread or by Listening's destructor, one call at a time. Must not throw.
  using Listener = std::function<void(std::string_view line)>;

  // The process's log. Never destroyed. Without a listener it keeps nothing.
  [[nodiscard]] static DuplicateLog& of_process();

  void add(const std::string& namespace_name, const std::string& activity, const std::string& run_id);

  // Registers the listener for this object's lifetime. The destructor logs the duplicates added so far.
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
  [[nodiscard]] static std::string line_of(const std::string& namespace_name, const std::string& activity,
                                           const Duplicates& duplicates);

  std::atomic<bool> is_heard_{false};
  std::mutex mutex_;  // guards the members below; held during calls of the listener
  Listener listener_;
  std::map<std::pair<std::string, std::string>, Duplicates> unlogged_;  // by namespace and activity
};

}  // namespace hapax::schedule
