#include "http/log_writer.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace hapax::http {

namespace {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return;  // a log that cannot be written cannot report it either
    }
  }
}

}  // namespace

LogWriter::LogWriter(int file) : file_(file), thread_([this] { run(); }) {}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_one();
  thread_.join();
}

void LogWriter::add(std::string_view line) {
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    if (gathered_.size() + line.size() > most_bytes) {
      ++left_out_;
      return;
    }
    const std::size_t before = gathered_.size();
    gathered_ += line;
    full = before < write_at && gathered_.size() >= write_at;
  }
  // A few lines wait at most 0.1 s for the thread; only a full batch wakes it, not every line.
  if (full) { condition_.notify_one(); }
}

void LogWriter::flush() {
  const std::lock_guard writing(writing_);
  write_gathered();
}

void LogWriter::write_gathered() {
  std::uint64_t left_out = 0;
  written_.clear();
  {
    const std::lock_guard lock(mutex_);
    written_.swap(gathered_);
    left_out = std::exchange(left_out_, 0);
  }
  if (left_out > 0) { written_ += R"({"event":"log","left_out":)" + std::to_string(left_out) + "}\n"; }
  write_all(file_, written_);
  // Keeps the capacity of a few writes and frees that of a burst.
  if (written_.capacity() > 4 * write_at) { written_ = {}; }
}

void LogWriter::run() {
  bool last = false;
  while (!last) {
    {
      std::unique_lock lock(mutex_);
      condition_.wait_for(lock, std::chrono::milliseconds(100),
                          [this] { return stopping_ || gathered_.size() >= write_at; });
      last = stopping_;
    }
    flush();
  }
}

}  // namespace hapax::http
