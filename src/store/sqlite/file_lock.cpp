#include "store/sqlite/file_lock.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

namespace hapax::store::sqlite {

namespace {

constexpr Duration first_pause = std::chrono::microseconds(30);
// The longest pause between two tries: of the processes at the front, and of all others.
constexpr Duration front_pause = std::chrono::milliseconds(1);
constexpr Duration line_pause = std::chrono::milliseconds(10);
// A process that has waited longer than this goes before all that have waited less.
constexpr Duration patience = std::chrono::milliseconds(50);
constexpr std::size_t pid_bytes = 11;  // ten digits and a newline

// Open file description locks on one byte each, independent of the flock on the whole file.
enum class Lane : std::uint8_t { turnstile = 0, overdue = 1 };

struct flock range_of(Lane lane, short kind) {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(lane);
  range.l_len = 1;
  return range;
}

bool take(int file, Lane lane) {
  struct flock range = range_of(lane, F_WRLCK);
  return ::fcntl(file, F_OFD_SETLK, &range) == 0;
}

void give_back(int file, Lane lane) {
  struct flock range = range_of(lane, F_UNLCK);
  ::fcntl(file, F_OFD_SETLK, &range);
}

bool is_taken(int file, Lane lane) {
  struct flock range = range_of(lane, F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

using Instant = std::chrono::steady_clock::time_point;

// Calls `attempt` until it returns true or the time is over, with growing pauses: dozens of waiting processes must
// leave the processors to the lock's holder.
template <class Attempt>
bool keep_trying(Attempt attempt, Instant begun, Instant until, Duration longest_pause) {
  while (!attempt()) {
    const Instant now = std::chrono::steady_clock::now();
    if (now >= until) { return false; }
    const auto waited = std::chrono::duration_cast<Duration>(now - begun);
    std::this_thread::sleep_for(std::clamp(waited / 8, first_pause, longest_pause));
  }
  return true;
}

bool pass_turnstile(int file, Instant begun, Instant until) {
  const auto take_turnstile = [file] { return take(file, Lane::turnstile); };
  if (keep_trying([&] { return !is_taken(file, Lane::overdue) && take_turnstile(); }, begun,
                  std::min(begun + patience, until), line_pause)) {
    return true;
  }
  if (!keep_trying([&] { return take(file, Lane::overdue); }, begun, until, line_pause)) { return false; }
  const bool passed = keep_trying(take_turnstile, begun, until, front_pause);
  give_back(file, Lane::overdue);
  return passed;
}

int read_pid(int file) {
  char text[pid_bytes] = {};
  const ssize_t size = ::pread(file, text, sizeof text, 0);
  int pid = 0;
  const char* begin = text;
  const char* const end = text + std::max<ssize_t>(size, 0);
  begin = std::find_if(begin, end, [](char c) { return c != ' '; });
  std::from_chars(begin, end, pid);
  return pid;
}

// The lock file is beside the real file, as SQLite's log is: two names of one store must use one lock.
std::string path_for(const std::string& database_path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(database_path, error);
  return (error ? database_path : real.string()) + ".lock";
}

}  // namespace

FileLock::FileLock(const std::string& database_path) : path_(path_for(database_path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw StoreUnavailable("SQLite store " + base::echo(database_path) + ": its lock file " + base::echo(path_) +
                           " cannot be opened for writing (" + std::strerror(errno) +
                           "); the directory must exist and be writable");
  }
}

FileLock::~FileLock() { ::close(file_); }

bool FileLock::try_acquire() {
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) { return false; }
  write_pid();
  return true;
}

void FileLock::acquire(Duration timeout, Duration waited) {
  const auto begun = std::chrono::steady_clock::now();
  const auto until = begun + std::max(timeout - waited, timeout / 10);
  bool locked = pass_turnstile(file_, begun, until);
  if (locked) {
    locked = keep_trying([this] { return ::flock(file_, LOCK_EX | LOCK_NB) == 0; }, begun, until, front_pause);
    give_back(file_, Lane::turnstile);
  }
  if (!locked) {
    throw StoreBusy("the lock file " + path_ + " was held by process " + std::to_string(read_pid(file_)) +
                    " for more than " + format_duration(timeout) +
                    "; a process stopped inside a write stops all writers");
  }
  write_pid();
}

void FileLock::release() { ::flock(file_, LOCK_UN); }

// Writes the pid only when another process held the lock since, so that a single process does not touch the file's
// times.
void FileLock::write_pid() {
  const int pid = static_cast<int>(::getpid());
  if (read_pid(file_) == pid) { return; }
  char text[pid_bytes + 1];
  std::snprintf(text, sizeof text, "%10d\n", pid);
  // If the pid cannot be written (a full disk), only an error message lacks it.
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, text, pid_bytes, 0);
}

std::optional<int> FileLock::holder(const std::string& database_path) {
  const int file = ::open(path_for(database_path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) { return std::nullopt; }
  std::optional<int> pid;
  if (::flock(file, LOCK_SH | LOCK_NB) != 0) { pid = read_pid(file); }
  ::close(file);
  return pid;
}

}  // namespace hapax::store::sqlite
