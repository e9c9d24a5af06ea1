// One HTTP/1.1 answer read from a connection: a head, and a body delimited by its length, by chunks or by the
// connection's end.
#pragma once

#include "base/stream.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::http {

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keeps_alive = false;

  [[nodiscard]] std::string_view header(std::string_view name) const;  // empty: no such header
};

// Limits on an answer: the reader never reads more, whatever the head announces.
inline constexpr std::size_t answer_head_bytes = 64 << 10;
inline constexpr std::size_t answer_body_bytes = std::size_t{256} << 20;

// Reads one answer. Memory grows with the bytes that have come, not with the announced length. One reader per answer.
class AnswerReader {
 public:
  // `at_most`: how long to wait for the first byte of the answer, and then for each further byte.
  AnswerReader(base::Stream& connection, Duration at_most) : connection_(connection), at_most_(at_most) {}

  // Throws base::StreamBroken when the answer is cut off, malformed or too long.
  [[nodiscard]] Answer read();
  // Whether any byte of the answer has come.
  [[nodiscard]] bool has_begun() const { return has_begun_; }

 private:
  void more();
  [[nodiscard]] std::string line(std::size_t at_most_bytes);
  void read_head(Answer& answer);
  void read_counted(std::string& body, std::size_t bytes);
  void read_chunked(std::string& body);
  void read_rest(std::string& body);

  base::Stream& connection_;
  const Duration at_most_;
  std::string buffer_;
  bool has_begun_ = false;
  bool is_at_end_ = false;
};

}  // namespace hapax::http
