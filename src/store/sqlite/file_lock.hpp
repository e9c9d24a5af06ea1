// FileLock: the lock between processes that covers every write transaction and every checkpoint.
//
// FileLock is a flock on `<database>.lock`, never on the database itself: closing a descriptor of the database would
// drop SQLite's own locks. A turnstile in front of the flock makes it fair: the next process in line holds the
// turnstile, so a process that writes without pause cannot overtake it. A process that has waited 50 ms for the
// turnstile, as happens with dozens of processes, goes before all that have waited less. Taking a free lock costs five
// system calls. The file contains the holder's pid, for people and error messages.
//
// One thread at a time acquires and releases; any thread may call holder().
#pragma once

#include <hapax/time.hpp>

#include <optional>
#include <string>

namespace hapax::store::sqlite {

class FileLock {
 public:
  // Creates the file if it does not exist. Throws StoreUnavailable when it cannot be opened.
  explicit FileLock(const std::string& database_path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Throws StoreBusy, naming the holder's pid, when the lock is not free within `timeout`. `waited` is the part of the
  // timeout that the caller has spent waiting for other threads of this process; at least a tenth of the timeout is
  // left in any case.
  void acquire(Duration timeout, Duration waited = Duration::zero());
  [[nodiscard]] bool try_acquire();
  void release();

  // The pid that holds the lock now, or nothing when it is free.
  [[nodiscard]] static std::optional<int> holder(const std::string& database_path);

 private:
  void write_pid();

  std::string path_;
  int file_ = -1;
};

}  // namespace hapax::store::sqlite
