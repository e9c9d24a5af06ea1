#include "store/sqlite/log_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace hapax::store::sqlite {

namespace {

constexpr const char* vfs_name = "hapax-log";
constexpr int gathered_max = 124 << 10;  // SQLite's files take less than 128 KiB at a time
// Larger writes are no frames, and their callers need to know at once whether there is room.
constexpr int gathered_piece_max = 8 << 10;
// The second word of a frame's header is the size of the database after a commit, and 0 in any other frame. See
// https://sqlite.org/fileformat2.html, 4.1.
constexpr int frame_header_bytes = 24;
constexpr int commit_word = 4;

bool is_commit_header(const char* header) {
  return std::any_of(header + commit_word, header + commit_word + 4, [](char byte) { return byte != 0; });
}

// SQLite allocates the memory of both: the underlying file follows this struct.
struct LogFile {
  sqlite3_file base{};  // first: SQLite refers to the file by this member
  std::unique_ptr<char[]> bytes;
  sqlite3_int64 offset = 0;  // of the first gathered byte
  int size = 0;
  bool gathers = false;
  bool ends_commit = false;  // the header of a commit's last frame was gathered

  [[nodiscard]] sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  [[nodiscard]] const sqlite3_io_methods& methods() { return *below()->pMethods; }

  // SQLite reports a full disk only for ENOSPC; a quota or a file size limit is no disk error either.
  [[nodiscard]] int write_below(const void* data, int amount, sqlite3_int64 at) {
    errno = 0;
    const int code = methods().xWrite(below(), data, amount, at);
    return code == SQLITE_IOERR_WRITE && (errno == EDQUOT || errno == EFBIG) ? SQLITE_FULL : code;
  }

  // Bytes that could not be written are dropped: the COMMIT that wrote them fails.
  [[nodiscard]] int write_out() {
    if (size == 0) { return SQLITE_OK; }
    const int amount = size;
    size = 0;
    return write_below(bytes.get(), amount, offset);
  }

  [[nodiscard]] int write(const void* data, int amount, sqlite3_int64 at) {
    if (size > 0 && (at != offset + size || size + amount > gathered_max)) {
      if (const int code = write_out(); code != SQLITE_OK) { return code; }
    }
    if (!gathers || amount > gathered_piece_max) {
      const int code = write_out();
      return code == SQLITE_OK ? write_below(data, amount, at) : code;
    }
    if (!bytes) {
      bytes.reset(new (std::nothrow) char[gathered_max]);
      if (!bytes) { return write_below(data, amount, at); }
    }
    if (size == 0) { offset = at; }
    std::memcpy(bytes.get() + size, data, static_cast<std::size_t>(amount));
    size += amount;
    if (amount == frame_header_bytes) {
      ends_commit = is_commit_header(static_cast<const char*>(data));
      return SQLITE_OK;
    }
    return std::exchange(ends_commit, false) ? write_out() : SQLITE_OK;
  }
};

static_assert(sizeof(LogFile) % alignof(std::max_align_t) == 0);

LogFile& log_of(sqlite3_file* file) { return *reinterpret_cast<LogFile*>(file); }

// Writes out the gathered bytes, then makes the call on the underlying file.
template <class Call>
int then(sqlite3_file* file, const Call& call) {
  LogFile& log = log_of(file);
  const int code = log.write_out();
  return code == SQLITE_OK ? call(log.methods(), log.below()) : code;
}

int close_log(sqlite3_file* file) {
  LogFile& log = log_of(file);
  const int closed = log.methods().xClose(log.below());
  log.~LogFile();
  return closed;
}

const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = close_log,
    .xRead =
        [](sqlite3_file* file, void* into, int amount, sqlite3_int64 at) {
          return then(file, [&](const auto& on, auto* below) { return on.xRead(below, into, amount, at); });
        },
    .xWrite = [](sqlite3_file* file, const void* data, int amount,
                 sqlite3_int64 at) { return log_of(file).write(data, amount, at); },
    .xTruncate =
        [](sqlite3_file* file, sqlite3_int64 size) {
          return then(file, [&](const auto& on, auto* below) { return on.xTruncate(below, size); });
        },
    .xSync = [](sqlite3_file* file,
                int flags) { return then(file, [&](const auto& on, auto* below) { return on.xSync(below, flags); }); },
    .xFileSize =
        [](sqlite3_file* file, sqlite3_int64* size) {
          return then(file, [&](const auto& on, auto* below) { return on.xFileSize(below, size); });
        },
    .xLock = [](sqlite3_file* file, int level) { return log_of(file).methods().xLock(log_of(file).below(), level); },
    .xUnlock = [](sqlite3_file* file,
                  int level) { return log_of(file).methods().xUnlock(log_of(file).below(), level); },
    .xCheckReservedLock =
        [](sqlite3_file* file, int* held) {
          return log_of(file).methods().xCheckReservedLock(log_of(file).below(), held);
        },
    .xFileControl =
        [](sqlite3_file* file, int operation, void* argument) {
          return then(file, [&](const auto& on, auto* below) { return on.xFileControl(below, operation, argument); });
        },
    .xSectorSize = [](sqlite3_file* file) { return log_of(file).methods().xSectorSize(log_of(file).below()); },
    .xDeviceCharacteristics =
        [](sqlite3_file* file) { return log_of(file).methods().xDeviceCharacteristics(log_of(file).below()); },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

sqlite3_vfs* default_vfs = nullptr;

// All other files are the default file system's own.
int open_file(sqlite3_vfs* /*vfs*/, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_WAL) == 0) { return default_vfs->xOpen(default_vfs, name, file, flags, out_flags); }
  auto* log = new (file) LogFile;
  const int code = default_vfs->xOpen(default_vfs, name, log->below(), flags, out_flags);
  if (log->below()->pMethods == nullptr) {
    log->~LogFile();
    file->pMethods = nullptr;
    return code;
  }
  log->base.pMethods = &log_methods;
  return code;
}

const char* register_vfs() {
  default_vfs = sqlite3_vfs_find(nullptr);
  if (default_vfs == nullptr) { return nullptr; }
  static sqlite3_vfs vfs = *default_vfs;
  vfs.zName = vfs_name;
  vfs.szOsFile = static_cast<int>(sizeof(LogFile)) + default_vfs->szOsFile;
  vfs.pNext = nullptr;
  vfs.xOpen = open_file;
  return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs_name : nullptr;
}

}  // namespace

// Without "powersafe overwrite", SQLite pads a commit to a sector, so a commit may continue after its last frame.
GatheredLog::GatheredLog(sqlite3* db) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods != &log_methods ||
      (file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) == 0) {
    return;
  }
  file_ = file;
  log_of(file_).gathers = true;
}

GatheredLog::~GatheredLog() {
  if (file_ == nullptr) { return; }
  log_of(file_).gathers = false;
  log_of(file_).size = 0;
  log_of(file_).ends_commit = false;
}

const char* log_gathering_vfs() {
  static const char* const name = register_vfs();
  return name;
}

}  // namespace hapax::store::sqlite
