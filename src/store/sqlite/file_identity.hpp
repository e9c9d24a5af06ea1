// FileIdentity: notices that the file behind a path is another one, or gone.
#pragma once

#include <string>

#include <sys/types.h>

namespace hapax::store::sqlite {

// Goes by stat() and never opens the file: closing any descriptor of a database file drops the locks that SQLite holds on it
// for the whole process. Any thread may ask once note() has returned.
class FileIdentity {
 public:
  // Remembers which file `path` names now. A process may change its working directory afterwards.
  void note(const std::string& path);
  // Empty while the path names that file; else what became of the file: "was deleted" or "was replaced by another file". A path that
  // cannot be looked at for another reason says nothing about the file.
  [[nodiscard]] std::string change() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace hapax::store::sqlite
