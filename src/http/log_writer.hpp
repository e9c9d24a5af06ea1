// LogWriter: writes lines from many threads to one file, without making a thread wait for the file.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace hapax::http {

// A thread of its own writes the gathered lines. When the file does not keep up, lines are dropped and their number is
// written instead: a full disk or a slow terminal does not stop the server. Any thread may add.
class LogWriter {
 public:
  explicit LogWriter(int file);  // the caller closes the file
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter();  // writes the gathered lines first

  void add(std::string_view line);  // `line` includes its line end
  void flush();                     // the gathered lines are written on return

 private:
  static constexpr std::size_t most_bytes = 4 << 20;
  static constexpr std::size_t write_at = 32 << 10;
  void run();
  void write_gathered();  // under writing_

  const int file_;
  std::mutex writing_;  // taken before mutex_; one thread writes at a time, so that lines stay whole
  std::mutex mutex_;
  std::condition_variable condition_;
  std::string gathered_;
  std::string written_;  // under writing_: the lines being written; swapped with gathered_
  std::uint64_t left_out_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hapax::http
