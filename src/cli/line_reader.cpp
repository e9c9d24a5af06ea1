#include "cli/line_reader.hpp"

#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "cli/problem.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hapax::cli {
namespace {

// Room for an input, its metadata and the rest of a request, escapes included.
std::size_t line_bytes() { return 2 * std::max(base::payload_limit(), limits::payload_default); }

}  // namespace

void LineReader::Close::operator()(std::FILE* file) const {
  if (file != stdin) { std::fclose(file); }
}

LineReader::LineReader(const std::string& path)
    : name_(path == "-" ? "standard input" : base::echo(path)),
      file_(path == "-" ? stdin : std::fopen(path.c_str(), "rbe")) {
  if (!file_) { throw MissingFile("cannot read " + name_ + ": " + std::strerror(errno)); }
  struct stat facts {};
  if (fstat(fileno(file_.get()), &facts) == 0 && S_ISREG(facts.st_mode)) { size_ = facts.st_size; }
}

bool LineReader::next(std::string& line) {
  line.clear();
  const std::size_t most = line_bytes();
  int c = 0;
  while ((c = getc_unlocked(file_.get())) != EOF && c != '\n') {
    line.push_back(static_cast<char>(c));
    if (line.size() > most) {
      throw BadData("PayloadTooLarge", "line " + std::to_string(number_ + 1) + " of " + name_ + " is longer than " +
                                           std::to_string(most) + " bytes");
    }
  }
  if (c == EOF && std::ferror(file_.get()) != 0) {
    throw MissingFile("cannot read " + name_ + ": " + std::strerror(errno));
  }
  if (c == EOF && line.empty()) { return false; }
  ++number_;
  read_ += static_cast<std::int64_t>(line.size()) + 1;
  return true;
}

double LineReader::fraction() const { return size_ > 0 ? static_cast<double>(read_) / static_cast<double>(size_) : 0; }

}  // namespace hapax::cli
