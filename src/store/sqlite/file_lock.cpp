#include "store/sqlite/file_lock.hpp"

#include <hapax/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

namespace hapax::store::sqlite {

namespace {

constexpr Duration first_pause = std::chrono::microseconds(30);
constexpr Duration longest_pause = std::chrono::milliseconds(1);
constexpr std::size_t pid_bytes = 11;  // ten digits and a newline

// The turnstile is a lock of the open file description on one byte; it does not meet flock's lock on the whole file.
bool turnstile(int file, short kind) {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = 0;
  range.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &range) == 0;
}

// Calls `attempt` until it answers true or the time is over.
template <class Attempt>
bool keep_trying(Attempt attempt, std::chrono::steady_clock::time_point until) {
  Duration pause = first_pause;
  while (!attempt()) {
    if (std::chrono::steady_clock::now() >= until) { return false; }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  }
  return true;
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

// Beside the file itself, as SQLite does with its log: two names of one store must meet at one lock.
std::string path_for(const std::string& database_path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(database_path, error);
  return (error ? database_path : real.string()) + ".lock";
}

}  // namespace

FileLock::FileLock(const std::string& database_path) : path_(path_for(database_path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw StoreUnavailable("SQLite store " + database_path + ": its lock file " + path_ +
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

void FileLock::acquire(Duration timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  bool locked = keep_trying([this] { return turnstile(file_, F_WRLCK); }, until);
  if (locked) {
    locked = keep_trying([this] { return ::flock(file_, LOCK_EX | LOCK_NB) == 0; }, until);
    turnstile(file_, F_UNLCK);
  }
  if (!locked) {
    throw StoreBusy("the lock file " + path_ + " was held by process " + std::to_string(read_pid(file_)) +
                    " for more than " + format_duration(timeout) +
                    "; a process stopped inside a write stops all writers");
  }
  write_pid();
}

void FileLock::release() { ::flock(file_, LOCK_UN); }

// Written only when somebody else held the lock since, so that a process alone does not touch the file's times.
void FileLock::write_pid() {
  const int pid = static_cast<int>(::getpid());
  if (read_pid(file_) == pid) { return; }
  char text[pid_bytes + 1];
  std::snprintf(text, sizeof text, "%10d\n", pid);
  // A pid that cannot be written (a full disk) costs a message its number, nothing else.
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
