// LogWriter: lines from many threads to one file, without keeping any of them waiting.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace hapax::server {

// A thread of its own writes what has gathered. When the file does not keep up, lines are left out and their number is
// written instead: a full disk or a slow terminal does not stop the server. Any thread may add.
class LogWriter {
 public:
  explicit LogWriter(int file);  // stays the caller's
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter();  // after writing what is there

  void add(std::string_view line);  // with its end
  void flush();                     // what is there is written when it returns

 private:
  static constexpr std::size_t most_bytes = 4 << 20;
  static constexpr std::size_t write_at = 32 << 10;
  void run();
  void write_gathered();  // under writing_

  const int file_;
  std::mutex writing_;  // taken before mutex_; one writes at a time, so that lines stay whole
  std::mutex mutex_;
  std::condition_variable condition_;
  std::string gathered_;
  std::string written_;  // under writing_: what is being written; the two change places
  std::uint64_t left_out_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hapax::server
