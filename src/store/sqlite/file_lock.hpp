// FileLock: the lock between processes that covers every write transaction and checkpoint (DESIGN "SQLite").
//
// A flock on `<database>.lock`, never on the database itself: closing a descriptor of that one would drop SQLite's own
// locks. A turnstile in front makes it fair: who waits holds the turnstile, so a process that writes without pause
// cannot overtake it; and who has waited long for the turnstile itself, as dozens of processes do at times, keeps those
// back who have not. A lock that is free costs five system calls. The holder's pid stands in the file for people and for
// messages.
//
// One thread at a time acquires and releases; holder() may be called by any.
#pragma once

#include <hapax/time.hpp>

#include <optional>
#include <string>

namespace hapax::store::sqlite {

class FileLock {
 public:
  // Makes the file if it is not there. Throws StoreUnavailable when it cannot.
  explicit FileLock(const std::string& database_path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Throws StoreBusy, naming the holder's pid, when it is not free within `timeout`. Of that, `waited` has gone by already,
  // for others of this process who wanted it too; a tenth is left in any case.
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
