// The writer's view of the write-ahead log: the writes of a commit go to the system in one call.
//
// SQLite writes a frame of the log as two writes, 24 bytes and a page, so a commit of fifty pages costs a hundred
// system calls. No reader reads those bytes before the commit's last frame is written, because the index that points to
// them is written after it. So while a COMMIT runs, its writes are gathered in memory. The bytes are written out with
// the commit's last frame, before a sync, before any other access to the file (a read, a size, a truncation), or when a
// write does not follow the one before it; a failure then fails the COMMIT. At any other time writes go to the file as
// SQLite makes them.
#pragma once

#include <sqlite3.h>

namespace hapax::store::sqlite {

// Registers the file system once per process; the name is for sqlite3_open_v2. Null when SQLite has no default file
// system.
[[nodiscard]] const char* log_gathering_vfs();

// While a GatheredLog lives, the connection's writes to its log are gathered. Its destructor drops writes that a failed
// COMMIT left behind.
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
