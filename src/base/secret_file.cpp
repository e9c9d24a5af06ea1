#include "base/secret_file.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hapax::base {

namespace {

constexpr mode_t of_others = 077;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ConfigurationError(echo(path) + ": " + why);
}

[[noreturn]] void fail(const std::string& path, const char* doing) {
  refuse(path, std::string("cannot be ") + doing + ": " + std::strerror(errno));
}

class File {
 public:
  File(const std::string& path, int flags, const char* doing) : path_(path), number_(open(path.c_str(), flags, 0600)) {
    if (number_ < 0) { fail(path_, doing); }
    struct stat facts {};
    if (fstat(number_, &facts) != 0) { fail_closing(doing); }
    if (!S_ISREG(facts.st_mode)) { refuse_closing("is no plain file"); }
    if ((facts.st_mode & of_others) != 0) {
      std::array<char, 8> mode{};
      std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(facts.st_mode & 0777U));
      refuse_closing("others may read or write it (mode " + std::string(mode.data()) +
                     "); expected mode 0600 (chmod 600 " + echo(path_) + ")");
    }
  }
  ~File() { close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  // A constructor that throws has no destructor call, so the file is closed here.
  [[noreturn]] void fail_closing(const char* doing) {
    const int error = errno;
    close(number_);
    errno = error;
    fail(path_, doing);
  }
  [[noreturn]] void refuse_closing(const std::string& why) {
    close(number_);
    refuse(path_, why);
  }

  const std::string& path_;
  int number_;
};

}  // namespace

std::string read_secret_file(const std::string& path) {
  // Non-blocking: a pipe in the file's place must not block the program.
  const File file(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, "read");
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (text.size() <= limits::configuration_bytes) {
    const ssize_t got = ::read(file.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) { continue; }
    if (got < 0) { fail(path, "read"); }
    if (got == 0) { return text; }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  refuse(path, "has more than " + std::to_string(limits::configuration_bytes) + " bytes, which is the limit");
}

void append_secret_line(const std::string& path, const std::string& line) {
  const File file(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, "written");
  const std::string text = line + "\n";
  // One write call, so that lines of two programs do not mix.
  const ssize_t written = ::write(file.number(), text.data(), text.size());
  if (written < 0) { fail(path, "written"); }
  if (static_cast<std::size_t>(written) != text.size()) {
    refuse(path, "could only be written in part; is the disk full?");
  }
  if (fsync(file.number()) != 0) { fail(path, "written"); }
}

}  // namespace hapax::base
