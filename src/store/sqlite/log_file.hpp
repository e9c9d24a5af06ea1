// The writer's view of the write-ahead log: what a commit writes goes to the system in one call.
//
// SQLite writes a frame of the log as two writes, 24 bytes and a page, so a commit of fifty pages costs a hundred system
// calls. Nobody else reads those bytes before the commit's last frame is written: the index that tells of them is
// written after that. So they are gathered, and written out with the last frame of a commit, before a sync, before
// anything else looks at the file (a read, a size, a truncation), or when they do not follow each other.
#pragma once

namespace hapax::store::sqlite {

// Registers it once a process; the name is for sqlite3_open_v2. Null when SQLite has no default file system.
[[nodiscard]] const char* log_gathering_vfs();

}  // namespace hapax::store::sqlite
