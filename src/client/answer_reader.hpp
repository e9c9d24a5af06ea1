// One HTTP/1.1 answer read from a connection: head, and a body that is counted, chunked or ended by the connection's end.
#pragma once

#include "base/stream.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::client {

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keeps_alive = false;

  [[nodiscard]] std::string_view header(std::string_view name) const;  // empty when it is not there
};

// What an answer may be at most: more is not read, whatever its head says.
inline constexpr std::size_t answer_head_bytes = 64 << 10;
inline constexpr std::size_t answer_body_bytes = std::size_t{256} << 20;

// Reads one answer. Memory grows with what has come. Made for one answer on one connection.
class AnswerReader {
 public:
  // `at_most`: for the first byte of the answer, and then between any two.
  AnswerReader(base::Stream& connection, Duration at_most) : connection_(connection), at_most_(at_most) {}

  // Throws base::StreamBroken when it is cut off, malformed or too long.
  [[nodiscard]] Answer read();
  // Whether any of it has come.
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

}  // namespace hapax::client
