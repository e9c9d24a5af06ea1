#include "guard/file_place.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/sha256.hpp"
#include "guard/fork.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace hapax::guard {

namespace {

namespace fs = std::filesystem;

constexpr Duration first_pause = std::chrono::microseconds(50);
constexpr Duration longest_pause = std::chrono::milliseconds(5);
constexpr std::size_t name_digits = 64;
constexpr std::size_t folder_digits = 2;
constexpr mode_t file_mode = 0600;
constexpr mode_t folder_mode = 0700;
constexpr std::size_t record_bytes = 16 << 20;  // far above any record; a larger file is not ours

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw StoreUnavailable("file store of guarded calls: cannot " + what + " " + path + ": " +
                         std::generic_category().message(error));
}

// Direct system calls: the C library's wrappers are cancellation points, which must not be in destructors and cost
// extra time twice per call in a program with threads.
int open_at(int folder, const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}
ssize_t read_some(int descriptor, char* into, std::size_t size) { return ::syscall(SYS_read, descriptor, into, size); }
ssize_t write_at(int descriptor, const char* from, std::size_t size, std::size_t offset) {
  return ::syscall(SYS_pwrite64, descriptor, from, size, static_cast<off_t>(offset));
}
void close_now(int descriptor) { ::syscall(SYS_close, descriptor); }

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0) : Descriptor(AT_FDCWD, path.c_str(), flags, mode) {}
  Descriptor(int folder, const char* path, int flags, mode_t mode = 0) {
    do { number_ = open_at(folder, path, flags | O_CLOEXEC, mode); } while (number_ < 0 && errno == EINTR);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) { close_now(number_); }
  }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Makes fork() wait while a thread holds a sub-folder's lock. Never destroyed.
class ForkGate final : private ForkAware {
 public:
  static ForkGate& instance() {
    static auto* const gate = new ForkGate;
    return *gate;
  }
  void enter() {
    const std::lock_guard lock(mutex_);
    inside_.fetch_add(1);
  }
  void leave() { inside_.fetch_sub(1); }

 private:
  ForkGate() { enlist(); }
  void before_fork() override {
    mutex_.lock();
    // The loop ends after the writes under way, because the mutex keeps new writes out.
    while (inside_.load() > 0) { std::this_thread::sleep_for(first_pause); }
  }
  void after_fork(bool /*in_child*/) override { mutex_.unlock(); }

  std::mutex mutex_;
  std::atomic<int> inside_{0};
};

bool is_hex(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void write_all(int descriptor, const std::string& text, std::size_t offset, const std::string& path) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write_at(descriptor, text.data() + done, text.size() - done, offset + done);
    if (written < 0 && errno == EINTR) { continue; }
    if (written <= 0) { fail("write", path, written == 0 ? EIO : errno); }
    done += static_cast<std::size_t>(written);
  }
}

void make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST) { fail("make the folder", folder, errno); }
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, Duration timeout) {
  const std::string path = folder + "/lock";
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (Duration pause = first_pause; !try_lock_in(folder, path); pause = std::min(pause * 2, longest_pause)) {
    if (std::chrono::steady_clock::now() >= until) {
      throw StoreBusy("file store of guarded calls: " + path + " has been locked for " + format_duration(timeout) +
                      " (lock_timeout); is its disk stalled, or a process stopped?");
    }
    std::this_thread::sleep_for(pause);
  }
}

FolderLock::FolderLock(const std::string& folder) { (void)try_lock_in(folder, folder + "/lock"); }

bool FolderLock::try_lock_in(const std::string& folder, const std::string& path) {
  if (try_lock(path)) { return true; }
  if (::access(folder.c_str(), F_OK) == 0) { return false; }
  make_folder(folder);
  return try_lock(path);
}

// Opens the file anew for each try, inside the gate: a descriptor that a child inherits would share the lock with it.
bool FolderLock::try_lock(const std::string& path) {
  ForkGate::instance().enter();
  Descriptor file(path, O_RDWR | O_CREAT | O_NOFOLLOW, file_mode);
  const int error = !file.is_open() || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  if (error == 0) {
    descriptor_ = file.release();
    return true;
  }
  const bool opened = file.is_open();
  ForkGate::instance().leave();
  if (error != EWOULDBLOCK && error != EINTR && error != ENOENT) { fail(opened ? "lock" : "open", path, error); }
  return false;
}

FolderLock::~FolderLock() {
  if (!holds()) { return; }
  ::flock(descriptor_, LOCK_UN);
  close_now(descriptor_);
  ForkGate::instance().leave();
}

FilePlace::FilePlace(const std::string& folder, bool sync) : sync_(sync) {
  if (folder.empty()) { throw InvalidArgument("folder", "is empty; expected a path, such as /var/lib/shop/guard"); }
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error).lexically_normal();
  if (error) { fail("find", folder, error.value()); }
  fs::create_directories(absolute, error);
  if (error) { fail("make the folder", absolute.string(), error.value()); }
  folder_ = absolute.has_filename() ? absolute.string() : absolute.parent_path().string();
  sync_folder(fs::path(folder_).parent_path().string());
  Descriptor root(folder_, O_PATH | O_DIRECTORY);
  struct stat opened {};
  reads_by_root_ = root.is_open() && ::fstat(root.number(), &opened) == 0;
  if (!reads_by_root_) { return; }
  root_ = root.release();
  root_device_ = opened.st_dev;
  root_inode_ = opened.st_ino;
}

FilePlace::~FilePlace() {
  if (root_ >= 0 && has_root()) { close_now(root_); }
}

// A program that closed all its descriptors may have reused the number for something else.
bool FilePlace::has_root() const {
  struct stat opened {};
  return ::fstat(root_, &opened) == 0 && opened.st_dev == root_device_ && opened.st_ino == root_inode_;
}

bool FilePlace::Known::contains(const std::string& folder) const { return known_[number(folder)].load(); }
void FilePlace::Known::add(const std::string& folder) { known_[number(folder)].store(true); }

std::size_t FilePlace::Known::number(const std::string& folder) {
  return std::stoul(folder.substr(folder.size() - folder_digits), nullptr, 16);
}

FileName FilePlace::name_of(const GuardKey& key) const {
  const std::array<std::string_view, 3> parts{key.namespace_name, key.name, key.key};
  std::array<char, name_digits> digits;
  base::put_hex(base::sha256_parts(parts), digits.data());
  const std::string_view hex(digits.data(), digits.size());
  return name_at(hex.substr(0, folder_digits), hex);
}

FileName FilePlace::name_at(std::string_view folder, std::string_view record) const {
  FileName name{.path = {}, .folder_size = folder_.size() + 1 + folder.size()};
  name.path.reserve(name.folder_size + 1 + record.size());
  name.path.append(folder_).append(1, '/').append(folder).append(1, '/').append(record);
  return name;
}

std::optional<std::string> FilePlace::read(const std::string& path) const {
  FileText text;
  return read(path, text) ? std::optional(std::string(text.view())) : std::nullopt;
}

bool FilePlace::read(const std::string& path, FileText& into) const {
  const Descriptor file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.is_open()) {
    if (errno == ENOENT) { return false; }
    fail("open", path, errno);
  }
  read_from(file.number(), path, into);
  return true;
}

bool FilePlace::read_unlocked(const FileName& name, FileText& into) const {
  // A forked child reads by path: many programs close all inherited descriptors and reuse their numbers.
  if (!reads_by_root_.load(std::memory_order_relaxed) || process_generation() != generation_) {
    return read(name.path, into);
  }
  const Descriptor file(root_, name.path.c_str() + folder_.size() + 1, O_RDONLY | O_NOFOLLOW);
  // Any other error may be the descriptor's fault: a daemon may have closed all its descriptors.
  if (!file.is_open()) { return errno != ENOENT && read(name.path, into); }
  read_from(file.number(), name.path, into);
  return true;
}

void FilePlace::read_from(int descriptor, const std::string& path, FileText& into) const {
  ssize_t got = 0;
  do { got = read_some(descriptor, into.inline_.data(), into.inline_.size()); } while (got < 0 && errno == EINTR);
  if (got < 0) { fail("read", path, errno); }
  into.size_ = static_cast<std::size_t>(got);
  if (into.size_ < into.inline_.size()) { return; }
  std::string& text = into.overflow_;
  text.assign(into.inline_.data(), into.size_);
  for (std::size_t length = text.size(); length >= into.inline_.size();) {
    text.resize(length * 4);
    got = read_some(descriptor, text.data() + length, text.size() - length);
    if (got < 0 && errno != EINTR) { fail("read", path, errno); }
    const bool whole = got == 0;
    length += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    text.resize(length);
    if (whole) { break; }
    if (length > record_bytes) { fail("read", path, EFBIG); }
  }
}

void FilePlace::check_folder_replaced() {
  struct stat present {};
  const bool is_same = has_root() && ::stat(folder_.c_str(), &present) == 0 && present.st_ino == root_inode_ &&
                       present.st_dev == root_device_;
  if (!is_same) { reads_by_root_ = false; }
}

void FilePlace::write(const FileName& name, const std::string& text) {
  if (reads_by_root_.load(std::memory_order_relaxed)) { check_folder_replaced(); }
  const std::string temporary = name.path + ".tmp";
  {
    const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, file_mode);
    if (!file.is_open()) { fail("make", temporary, errno); }
    write_all(file.number(), text, 0, temporary);
    base::fault_point("guard.file.written");
    if (sync_ && ::fdatasync(file.number()) != 0) { fail("sync", temporary, errno); }
  }
  base::fault_point("guard.file.rename");
  if (::rename(temporary.c_str(), name.path.c_str()) != 0) { fail("rename", temporary, errno); }
  base::fault_point("guard.file.renamed");
  const std::string folder = name.folder();
  sync_folder(folder);
  // The process that made the sub-folder may have died before the sub-folder was on disk.
  if (!known_.contains(folder)) {
    sync_folder(folder_);
    known_.add(folder);
  }
}

void FilePlace::overwrite(const FileName& name, std::size_t offset, const std::string& text) const {
  const Descriptor file(name.path, O_WRONLY | O_NOFOLLOW);
  if (!file.is_open()) { fail("open", name.path, errno); }
  write_all(file.number(), text, offset, name.path);
}

void FilePlace::remove(const FileName& name) {
  if (reads_by_root_.load(std::memory_order_relaxed)) { check_folder_replaced(); }
  if (::unlink(name.path.c_str()) != 0 && errno != ENOENT) { fail("remove", name.path, errno); }
  sync_folder(name.folder());
}

void FilePlace::sync_folder(const std::string& folder) const {
  if (!sync_) { return; }
  const Descriptor opened(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.is_open() || ::fsync(opened.number()) != 0) { fail("sync the folder", folder, errno); }
}

std::vector<std::string> FilePlace::folders() const {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator each(folder_, error); !error && each != fs::directory_iterator(); each.increment(error)) {
    std::string name = each->path().filename().string();
    if (name.size() == folder_digits && is_hex(name)) { found.push_back(std::move(name)); }
  }
  if (error) { fail("list", folder_, error.value()); }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> FilePlace::records(const std::string& folder) const {
  std::vector<std::string> found;
  std::error_code error;
  const std::string path = folder_ + "/" + folder;
  for (fs::directory_iterator each(path, error); !error && each != fs::directory_iterator(); each.increment(error)) {
    std::string name = each->path().filename().string();
    if (name.size() == name_digits && is_hex(name)) { found.push_back(std::move(name)); }
  }
  if (error) { fail("list", path, error.value()); }
  std::ranges::sort(found);
  return found;
}

}  // namespace hapax::guard
