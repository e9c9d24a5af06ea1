#include "store/sqlite/file_identity.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace hapax::store::sqlite {

void FileIdentity::note(const std::string& path) {
  struct stat seen {};
  const std::string absolute = std::filesystem::absolute(path).string();
  if (::stat(absolute.c_str(), &seen) != 0) { return; }
  path_ = absolute;
  device_ = seen.st_dev;
  inode_ = seen.st_ino;
}

std::string FileIdentity::change() const {
  if (path_.empty()) { return {}; }
  struct stat seen {};
  if (::stat(path_.c_str(), &seen) != 0) { return errno == ENOENT || errno == ENOTDIR ? "was deleted" : ""; }
  return seen.st_dev == device_ && seen.st_ino == inode_ ? "" : "was replaced by another file";
}

}  // namespace hapax::store::sqlite
