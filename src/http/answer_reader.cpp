#include "http/answer_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.hpp"

namespace hapax::http {
namespace {

std::optional<std::size_t> number_of(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) { return std::nullopt; }
  return value;
}

[[noreturn]] void malformed() { throw base::StreamBroken("the bytes received are not an HTTP answer"); }
[[noreturn]] void too_long() {
  throw base::StreamBroken("the answer is over " + std::to_string(answer_body_bytes >> 20) + " MiB");
}

}  // namespace

std::string_view Answer::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const auto& each) { return each.first == name; });
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

void AnswerReader::more() {
  std::array<char, 64 << 10> chunk{};
  const std::size_t got = connection_.read(chunk.data(), chunk.size(), at_most_);
  has_begun_ = has_begun_ || got > 0;
  is_at_end_ = got == 0;
  buffer_.append(chunk.data(), got);
}

std::string AnswerReader::line(std::size_t at_most_bytes) {
  std::size_t looked_at = 0;
  while (true) {
    const std::size_t end = buffer_.find("\r\n", looked_at > 0 ? looked_at - 1 : 0);
    if (end != std::string::npos) {
      std::string found = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      return found;
    }
    looked_at = buffer_.size();
    if (buffer_.size() > at_most_bytes) { malformed(); }
    more();
    if (is_at_end_) { throw base::StreamBroken("the connection was closed before the answer was whole"); }
  }
}

void AnswerReader::read_head(Answer& answer) {
  const std::string first = line(answer_head_bytes);
  if (!first.starts_with("HTTP/1.") || first.size() < 12) { malformed(); }
  const std::optional<std::size_t> status = number_of(std::string_view(first).substr(9, 3), 10);
  if (!status || *status < 100 || *status > 599) { malformed(); }
  answer.status = static_cast<int>(*status);
  answer.keeps_alive = first.starts_with("HTTP/1.1");
  answer.headers.clear();
  std::size_t bytes = 0;
  while (true) {
    const std::string header = line(answer_head_bytes);
    if (header.empty()) { break; }
    bytes += header.size();
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos || bytes > answer_head_bytes) { malformed(); }
    answer.headers.emplace_back(base::lower(std::string_view(header).substr(0, colon)),
                                base::trimmed(std::string_view(header).substr(colon + 1)));
  }
  if (base::lower(answer.header("connection")).find("close") != std::string::npos) { answer.keeps_alive = false; }
}

void AnswerReader::read_counted(std::string& body, std::size_t bytes) {
  if (bytes > answer_body_bytes || body.size() + bytes > answer_body_bytes) { too_long(); }
  const std::size_t wanted = body.size() + bytes;
  while (true) {
    const std::size_t take = std::min(wanted - body.size(), buffer_.size());
    body.append(buffer_, 0, take);
    buffer_.erase(0, take);
    if (body.size() == wanted) { return; }
    more();
    if (is_at_end_) { throw base::StreamBroken("the connection was closed before the answer was whole"); }
  }
}

void AnswerReader::read_chunked(std::string& body) {
  while (true) {
    const std::string head = line(1024);
    const std::optional<std::size_t> bytes =
        number_of(base::trimmed(std::string_view(head).substr(0, head.find(';'))), 16);
    if (!bytes) { malformed(); }
    if (*bytes == 0) { break; }
    read_counted(body, *bytes);
    if (!line(2).empty()) { malformed(); }
  }
  while (!line(answer_head_bytes).empty()) {}  // trailers
}

void AnswerReader::read_rest(std::string& body) {
  while (!is_at_end_) {
    body += buffer_;
    buffer_.clear();
    if (body.size() > answer_body_bytes) { too_long(); }
    more();
  }
}

Answer AnswerReader::read() {
  Answer answer;
  do { read_head(answer); } while (answer.status < 200);
  if (answer.status == 204 || answer.status == 304) { return answer; }
  if (base::lower(answer.header("transfer-encoding")) == "chunked") {
    read_chunked(answer.body);
  } else if (!answer.header("content-length").empty()) {
    const std::optional<std::size_t> bytes = number_of(answer.header("content-length"), 10);
    if (!bytes) { malformed(); }
    read_counted(answer.body, *bytes);
  } else {
    answer.keeps_alive = false;
    read_rest(answer.body);
  }
  if (!buffer_.empty()) { answer.keeps_alive = false; }
  return answer;
}

}  // namespace hapax::http
