// Reads lines of bounded length from a file or standard input.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace hapax::cli {

class LineReader {
 public:
  // "-" is standard input. Throws MissingFile.
  explicit LineReader(const std::string& path);

  // The next line without its newline; false at the end. Throws BadData for a line over the limit, MissingFile when
  // reading fails.
  bool next(std::string& line);

  [[nodiscard]] std::int64_t number() const { return number_; }  // of the line read last, from 1
  [[nodiscard]] std::int64_t size() const { return size_; }      // bytes of the file; 0: unknown
  [[nodiscard]] double fraction() const;                         // the part read so far; 0 if the size is unknown

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::int64_t number_ = 0;
  std::int64_t size_ = 0;
  std::int64_t read_ = 0;
};

}  // namespace hapax::cli
