// FilePlace: the folder of a file store, and the system calls on it.
//
// <folder>/<2 hex digits>/<64 hex digits> is a record, named by the SHA-256 of its key, so that no key can collide
// with another or name a file outside. Each sub-folder has a lock file beside its records. A record changes by renaming
// a new file over the old one while the sub-folder's lock is held: readers need no lock and see the old or the new
// record, whole.
//
// A kill between any two calls leaves the old record or the new one, and at most one temporary file per key, which the
// next write of that key replaces. A flock ends with its process: a dead process blocks nobody.
#pragma once

#include <hapax/guard_store.hpp>

#include "guard/fork.hpp"

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::guard {

// The path of a record.
struct FileName {
  std::string path;  // absolute
  std::size_t folder_size = 0;
  // The path of the sub-folder (two digits).
  [[nodiscard]] std::string folder() const { return path.substr(0, folder_size); }
};

// A file's text. Most records fit the inline buffer, which needs no allocation.
class FileText {
 public:
  FileText() {}  // NOLINT(modernize-use-equals-default): leaves the buffer uninitialised
  FileText(const FileText&) = delete;
  FileText& operator=(const FileText&) = delete;
  [[nodiscard]] std::string_view view() const {
    return overflow_.empty() ? std::string_view(inline_.data(), size_) : std::string_view(overflow_);
  }

 private:
  friend class FilePlace;
  std::array<char, 2048> inline_;
  std::size_t size_ = 0;
  std::string overflow_;
};

// The lock of a sub-folder, held until destruction; makes the sub-folder if it is missing. fork() waits while a thread
// of this process holds a FolderLock: a child would inherit the lock and keep it.
class FolderLock {
 public:
  // Waits at most `timeout`, then throws StoreBusy.
  FolderLock(const std::string& folder, Duration timeout);
  // Does not wait; holds() returns whether the lock was free.
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();
  [[nodiscard]] bool holds() const { return descriptor_ >= 0; }

 private:
  // Makes the folder when it is missing.
  [[nodiscard]] bool try_lock_in(const std::string& folder, const std::string& path);
  [[nodiscard]] bool try_lock(const std::string& path);

  int descriptor_ = -1;
};

// Any thread may call. Every call throws StoreUnavailable with the path and the system's error text.
class FilePlace {
 public:
  FilePlace(const std::string& folder, bool sync);
  FilePlace(const FilePlace&) = delete;
  FilePlace& operator=(const FilePlace&) = delete;
  ~FilePlace();

  [[nodiscard]] FileName name_of(const GuardKey& key) const;
  [[nodiscard]] const std::string& folder() const { return folder_; }

  // Returns false when there is no such file.
  [[nodiscard]] bool read(const std::string& path, FileText& text) const;
  // Reads without the lock, and faster than read(), as the path to the folder is not walked again. If another folder
  // has replaced this one, the old folder's record is read until this process next writes.
  [[nodiscard]] bool read_unlocked(const FileName& name, FileText& text) const;
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;

  // write(), overwrite() and remove() need the lock of the record's sub-folder.
  void write(const FileName& name, const std::string& text);
  void overwrite(const FileName& name, std::size_t offset, const std::string& text) const;
  void remove(const FileName& name);

  // The existing sub-folders, and the record file names of one sub-folder, each sorted.
  [[nodiscard]] std::vector<std::string> folders() const;
  [[nodiscard]] std::vector<std::string> records(const std::string& folder) const;
  [[nodiscard]] FileName name_at(std::string_view folder, std::string_view record) const;

 private:
  // The sub-folders that this process has seen on disk.
  class Known {
   public:
    [[nodiscard]] bool contains(const std::string& folder) const;
    void add(const std::string& folder);

   private:
    [[nodiscard]] static std::size_t number(const std::string& folder);
    std::array<std::atomic<bool>, 256> known_{};
  };

  void sync_folder(const std::string& folder) const;
  void read_from(int descriptor, const std::string& path, FileText& into) const;
  // Turns read_unlocked() into read() when the folder's path no longer leads to the folder that was opened.
  void check_folder_replaced();

  std::string folder_;
  const bool sync_;
  Known known_;
  [[nodiscard]] bool has_root() const;

  int root_ = -1;  // the opened folder
  dev_t root_device_ = 0;
  ino_t root_inode_ = 0;
  const std::uint64_t generation_ = process_generation();
  std::atomic<bool> reads_by_root_{false};
};

}  // namespace hapax::guard
