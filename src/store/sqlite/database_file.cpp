#include "store/sqlite/database_file.hpp"

#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "base/text.hpp"

#include <hapax/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::store::sqlite {

// ---- The path -----------------------------------------------------------------------------------------------------
namespace {

// The names of the files beside `path` that may be stores.
std::vector<std::string> neighbours(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (std::ssize(names) == limits::list_page) { break; }
    std::string name = at->path().filename().string();
    const bool is_part = name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with(".lock");
    if (!is_part && at->is_regular_file(error)) { names.push_back(std::move(name)); }
  }
  return names;
}

}  // namespace

void refuse_missing(const std::string& path, const std::string& what) {
  const std::filesystem::path asked(path);
  const std::string near = base::closest(asked.filename().string(), neighbours(asked));
  std::string advice = "hapax migrate makes a store";
  if (!near.empty() && near != asked.filename().string()) {
    advice = "did you mean '" + (asked.parent_path() / near).string() + "'?";
  }
  throw NotFound("SQLite store " + base::keep_tail(path, limits::name_bytes) + ": " + what + "; " + advice);
}

const std::string& checked_path(const std::string& path, bool must_exist) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) {
    throw StoreUnavailable("SQLite store " + base::echo(path) + ": this is a directory; name a file");
  }
  if (must_exist && !std::filesystem::exists(status)) { refuse_missing(path, "there is no such file"); }
  return path;
}

// ---- The file behind the path ------------------------------------------------------------------------------------
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

// ---- The lock file ------------------------------------------------------------------------------------------------
namespace {

constexpr Duration first_pause = std::chrono::microseconds(30);
// The longest pause between two tries: of the processes at the front, and of all others.
constexpr Duration front_pause = std::chrono::milliseconds(1);
constexpr Duration line_pause = std::chrono::milliseconds(10);
// A process that has waited longer than this goes before all that have waited less.
constexpr Duration patience = std::chrono::milliseconds(50);
constexpr std::size_t pid_bytes = 11;  // ten digits and a newline

// Open file description locks on one byte each, independent of the flock on the whole file.
enum class LockByte : std::uint8_t { turnstile = 0, overdue = 1 };

struct flock range_of(LockByte byte, short kind) {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  return range;
}

bool take(int file, LockByte byte) {
  struct flock range = range_of(byte, F_WRLCK);
  return ::fcntl(file, F_OFD_SETLK, &range) == 0;
}

void give_back(int file, LockByte byte) {
  struct flock range = range_of(byte, F_UNLCK);
  ::fcntl(file, F_OFD_SETLK, &range);
}

bool is_taken(int file, LockByte byte) {
  struct flock range = range_of(byte, F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

using Instant = std::chrono::steady_clock::time_point;

// Calls `attempt` until it returns true or the time is over, with growing pauses: dozens of waiting processes must
// leave the processors to the lock's holder.
template <class Attempt>
bool keep_trying(Attempt attempt, Instant begun, Instant until, Duration longest_pause) {
  while (!attempt()) {
    const Instant now = std::chrono::steady_clock::now();
    if (now >= until) { return false; }
    const auto waited = std::chrono::duration_cast<Duration>(now - begun);
    std::this_thread::sleep_for(std::clamp(waited / 8, first_pause, longest_pause));
  }
  return true;
}

bool pass_turnstile(int file, Instant begun, Instant until) {
  const auto take_turnstile = [file] { return take(file, LockByte::turnstile); };
  if (keep_trying([&] { return !is_taken(file, LockByte::overdue) && take_turnstile(); }, begun,
                  std::min(begun + patience, until), line_pause)) {
    return true;
  }
  if (!keep_trying([&] { return take(file, LockByte::overdue); }, begun, until, line_pause)) { return false; }
  const bool passed = keep_trying(take_turnstile, begun, until, front_pause);
  give_back(file, LockByte::overdue);
  return passed;
}

int read_pid(int file) {
  char text[pid_bytes] = {};
  const ssize_t size = ::pread(file, text, sizeof text, 0);
  int pid = 0;
  const char* begin = text;
  const char* const end = text + std::max<ssize_t>(size, 0);
  begin = std::find_if(begin, end, [](char c) { return c != ' '; });
  std::from_chars(begin, end, pid);
  return pid;
}

// The lock file is beside the real file, as SQLite's log is: two names of one store must use one lock.
std::string path_for(const std::string& database_path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(database_path, error);
  return (error ? database_path : real.string()) + ".lock";
}

}  // namespace

FileLock::FileLock(const std::string& database_path) : path_(path_for(database_path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw StoreUnavailable("SQLite store " + base::echo(database_path) + ": its lock file " + base::echo(path_) +
                           " cannot be opened for writing (" + std::strerror(errno) +
                           "); the directory must exist and be writable");
  }
}

FileLock::~FileLock() { ::close(file_); }

bool FileLock::try_acquire() {
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) { return false; }
  write_pid();
  return true;
}

void FileLock::acquire(Duration timeout, Duration waited) {
  const auto begun = std::chrono::steady_clock::now();
  const auto until = begun + std::max(timeout - waited, timeout / 10);
  bool locked = pass_turnstile(file_, begun, until);
  if (locked) {
    locked = keep_trying([this] { return ::flock(file_, LOCK_EX | LOCK_NB) == 0; }, begun, until, front_pause);
    give_back(file_, LockByte::turnstile);
  }
  if (!locked) {
    throw StoreBusy("the lock file " + path_ + " was held by process " + std::to_string(read_pid(file_)) +
                    " for more than " + format_duration(timeout) +
                    "; a process stopped inside a write stops all writers");
  }
  write_pid();
}

void FileLock::release() { ::flock(file_, LOCK_UN); }

// Writes the pid only when another process held the lock since, so that a single process does not touch the file's
// times.
void FileLock::write_pid() {
  const int pid = static_cast<int>(::getpid());
  if (read_pid(file_) == pid) { return; }
  char text[pid_bytes + 1];
  std::snprintf(text, sizeof text, "%10d\n", pid);
  // If the pid cannot be written (a full disk), only an error message lacks it.
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, text, pid_bytes, 0);
}

std::optional<int> FileLock::holder(const std::string& database_path) {
  const int file = ::open(path_for(database_path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) { return std::nullopt; }
  std::optional<int> pid;
  if (::flock(file, LOCK_SH | LOCK_NB) != 0) { pid = read_pid(file); }
  ::close(file);
  return pid;
}

// ---- The log ------------------------------------------------------------------------------------------------------
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

// Makes the call on the underlying file.
template <auto method, class... Arguments>
int forward(sqlite3_file* file, Arguments... arguments) {
  return (log_of(file).methods().*method)(log_of(file).below(), arguments...);
}

// Writes out the gathered bytes, then makes the call on the underlying file.
template <auto method, class... Arguments>
int write_out_and_forward(sqlite3_file* file, Arguments... arguments) {
  const int code = log_of(file).write_out();
  return code == SQLITE_OK ? forward<method>(file, arguments...) : code;
}

int write_log(sqlite3_file* file, const void* data, int amount, sqlite3_int64 at) {
  return log_of(file).write(data, amount, at);
}

int close_log(sqlite3_file* file) {
  LogFile& log = log_of(file);
  const int closed = log.methods().xClose(log.below());
  log.~LogFile();
  return closed;
}

using Methods = sqlite3_io_methods;
const Methods log_methods = {.iVersion = 1,
                             .xClose = close_log,
                             .xRead = write_out_and_forward<&Methods::xRead>,
                             .xWrite = write_log,
                             .xTruncate = write_out_and_forward<&Methods::xTruncate>,
                             .xSync = write_out_and_forward<&Methods::xSync>,
                             .xFileSize = write_out_and_forward<&Methods::xFileSize>,
                             .xLock = forward<&Methods::xLock>,
                             .xUnlock = forward<&Methods::xUnlock>,
                             .xCheckReservedLock = forward<&Methods::xCheckReservedLock>,
                             .xFileControl = write_out_and_forward<&Methods::xFileControl>,
                             .xSectorSize = forward<&Methods::xSectorSize>,
                             .xDeviceCharacteristics = forward<&Methods::xDeviceCharacteristics>,
                             .xShmMap = nullptr,
                             .xShmLock = nullptr,
                             .xShmBarrier = nullptr,
                             .xShmUnmap = nullptr,
                             .xFetch = nullptr,
                             .xUnfetch = nullptr};

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
  static const bool plain = base::takes_plain_path("sqlite-log-one-write");
  sqlite3_file* file = nullptr;
  if (plain || sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK || file == nullptr ||
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
