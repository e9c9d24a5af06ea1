// Reads the configuration file: checks its size, its encoding, and who may read it.
#include "app/config/reader.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hapax::config {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) { close(number_); }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

struct File {
  std::string text{};
  unsigned mode = 0;
  std::string problem{};  // why the file cannot be read
};

// Reads at most one byte over the limit, which is enough to see that the file is too large.
File read_bytes(const std::string& path) {
  File file;
  const Descriptor descriptor(path);
  struct stat facts {};
  if (descriptor.number() < 0 || fstat(descriptor.number(), &facts) != 0) {
    file.problem = std::string("cannot be read: ") + std::strerror(errno);
    return file;
  }
  if (S_ISDIR(facts.st_mode)) {
    file.problem = "is a folder; expected a file such as hapax.toml";
    return file;
  }
  file.mode = facts.st_mode & 0777U;
  std::array<char, 1 << 16> buffer{};
  while (file.text.size() <= limits::configuration_bytes) {
    const ssize_t got = ::read(descriptor.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) { continue; }
    if (got < 0) { file.problem = std::string("cannot be read: ") + std::strerror(errno); }
    if (got <= 0) { return file; }
    file.text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  file.problem = "has more than " + std::to_string(limits::configuration_bytes) + " bytes, which is the limit";
  return file;
}

// The line of the first byte that is not UTF-8; 0: there is none.
int foreign_line(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const std::size_t length = base::utf8_sequence_length(at, end);
    if (length == 0) { return static_cast<int>(std::count(text.data(), at, '\n')) + 1; }
    at += length;
  }
  return 0;
}

int hex_digit(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::size_t at = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    out.push_back(coded ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i]);
    i += coded ? 2 : 0;
  }
  return out;
}

// Whether a URL has a password: user:password@, a password parameter, or either in a listen_url.
bool has_password(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) { return false; }
  const std::size_t question = url.find('?');
  const std::string_view place =
      url.substr(scheme + 3, question == std::string_view::npos ? question : question - scheme - 3);
  const std::size_t at = place.rfind('@');
  if (at != std::string_view::npos && place.find(':') < at) { return true; }
  while (true) {
    const std::size_t begin = url.find_first_of("?&");
    if (begin == std::string_view::npos) { return false; }
    url.remove_prefix(begin + 1);
    const std::string_view parameter = url.substr(0, url.find('&'));
    if (parameter.starts_with("password=") || parameter.starts_with("sslpassword=")) { return true; }
    constexpr std::string_view listen = "listen_url=";
    if (parameter.starts_with(listen) && has_password(percent_decoded(parameter.substr(listen.size())))) {
      return true;
    }
  }
}

// A password in a file that other users can read is a problem.
void check_secrecy(Reading& reading, const File& file) {
  const Stated* url = reading.config.find("store.url");
  if (url == nullptr || (file.mode & 044U) == 0 || !has_password(reading.config.store_url.value_or(""))) { return; }
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", file.mode);
  reading.problems.push_back({.source = url->source,
                              .key = "store.url",
                              .message = "has a password, and the file is readable by others (mode " +
                                         std::string(mode.data()) + "); expected mode 0600 (chmod 600 " +
                                         base::printable(reading.config.path) +
                                         "), or the URL in HAPAX_STORE_URL, or the password in ~/.pgpass",
                              .line = url->line});
}

}  // namespace

Reading read(const std::string& path, const Environment& environment) {
  Reading reading;
  reading.config.path = path;
  if (!path.empty()) {
    const File file = read_bytes(path);
    const int foreign = file.problem.empty() ? foreign_line(file.text) : 0;
    if (!file.problem.empty()) {
      reading.problems.push_back({.source = path, .message = file.problem});
    } else if (foreign > 0) {
      reading.problems.push_back({.source = path + ":" + std::to_string(foreign),
                                  .message = "is not UTF-8; expected TOML, which is UTF-8 throughout",
                                  .line = foreign});
    } else {
      read_toml(reading, file.text);
      // Checked before the environment, whose URL may override the file's: a password in the file is a problem all the
      // same.
      check_secrecy(reading, file);
    }
  }
  read_environment(reading, environment);
  check_together(reading);
  sort_by_line(reading);
  return reading;
}

}  // namespace hapax::config
