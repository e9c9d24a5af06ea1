// FileIdentity: notices that the file behind a path was deleted or replaced.
#pragma once

#include <string>

#include <sys/types.h>

namespace hapax::store::sqlite {

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

}  // namespace hapax::store::sqlite
