// The writer's view of the write-ahead log: what a commit writes goes to the system in one call.
//
// SQLite writes a frame of the log as two writes, 24 bytes and a page, so a commit of fifty pages costs a hundred system
// calls. Nobody else reads those bytes before the commit's last frame is written: the index that tells of them is
// written after that. So while a COMMIT runs they are gathered, and written out with the last frame of the commit,
// before a sync, before anything else looks at the file (a read, a size, a truncation), or when they do not follow each
// other; what fails then fails the COMMIT. At any other time the file is written as SQLite says.
#pragma once

#include <sqlite3.h>

namespace hapax::store::sqlite {

// Registers it once a process; the name is for sqlite3_open_v2. Null when SQLite has no default file system.
[[nodiscard]] const char* log_gathering_vfs();

// While it lives, what the connection writes into its log is gathered. What is left at its end, after a COMMIT that
// failed, is dropped.
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
