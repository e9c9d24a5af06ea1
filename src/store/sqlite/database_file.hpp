// The files of a SQLite store as the system sees them: the checks of its path, whether the path still leads to the same
// file, the lock file between processes, and the writes to the log.
#pragma once

#include <hapax/time.hpp>

#include <sqlite3.h>

#include <optional>
#include <string>

#include <sys/types.h>

namespace hapax::store::sqlite {

// Throws NotFound: the file at `path` is no store, for the reason `what`. The message names a neighbouring file with a
// similar name.
[[noreturn]] void refuse_missing(const std::string& path, const std::string& what);
// Returns `path`. Throws StoreUnavailable for a directory, NotFound for a file that must exist and does not.
[[nodiscard]] const std::string& checked_path(const std::string& path, bool must_exist);

// FileIdentity: notices that the file behind a path was deleted or replaced.
//
// Uses stat() and never opens the file: closing any descriptor of a database file drops the locks that SQLite holds on
// it for the whole process (decision 50). Any thread may call change() once note() has returned.
class FileIdentity {
 public:
  // Remembers which file `path` names now. The process may change its working directory afterwards.
  void note(const std::string& path);
  // Empty while the path names that file; else "was deleted" or "was replaced by another file". Also empty when stat()
  // fails for another reason than a missing file: such a failure says nothing about the file.
  [[nodiscard]] std::string change() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// FileLock: the lock between processes that covers every write transaction and every checkpoint.
//
// FileLock is a flock on `<database>.lock`, never on the database itself: closing a descriptor of the database would
// drop SQLite's own locks. A turnstile in front of the flock makes it fair: the next process in line holds the
// turnstile, so a process that writes without pause cannot overtake it. A process that has waited 50 ms for the
// turnstile, as happens with dozens of processes, goes before all that have waited less. Taking a free lock costs five
// system calls. The file contains the holder's pid, for people and error messages.
//
// One thread at a time acquires and releases; any thread may call holder().
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

// Holds the lock file for a scope.
class Locked {
 public:
  Locked(FileLock& lock, Duration timeout) : lock_(lock) { lock_.acquire(timeout); }
  ~Locked() { lock_.release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  FileLock& lock_;
};

// ---- The log --------------------------------------------------------------------------------------------------------
// SQLite writes a frame of the log as two writes, 24 bytes and a page, so a commit of fifty pages costs a hundred
// system calls. No reader reads those bytes before the commit's last frame is written, because the index that points to
// them is written after it. So while a COMMIT runs, its writes are gathered in memory. The bytes are written out with
// the commit's last frame, before a sync, before any other access to the file (a read, a size, a truncation), or when a
// write does not follow the one before it; a failure then fails the COMMIT. At any other time writes go to the file as
// SQLite makes them.
//
// Registers the file system once per process; the name is for sqlite3_open_v2. Null when SQLite has no default file
// system.
[[nodiscard]] const char* log_gathering_vfs();

// While a GatheredLog lives, the connection's writes to its log are gathered. The destructor of GatheredLog drops
// writes that a failed COMMIT left behind.
class GatheredLog {
 public:
  explicit GatheredLog(sqlite3* db);
  ~GatheredLog();
  GatheredLog(const GatheredLog&) = delete;
  GatheredLog& operator=(const GatheredLog&) = delete;

 private:
  sqlite3_file* file_ = nullptr;
};

}  // namespace hapax::store::sqlite
