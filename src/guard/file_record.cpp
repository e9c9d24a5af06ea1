#include "guard/file_record.hpp"

#include "base/sha256.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace hapax::guard {

namespace {

constexpr std::string_view magic = "hapax-guard 1 ";
constexpr std::size_t checksum_width = 8;
constexpr std::size_t body_offset = heartbeat_offset + heartbeat_width + 1;
static_assert(magic.size() + checksum_width + 1 == heartbeat_offset);
constexpr std::size_t text_count = RecordView::text_count;

// CRC-32 (IEEE 802.3): detects a file that a disk error or an editor has changed. The loop takes sixteen bytes per
// step, with one table per position, because each read of a record checks the CRC.
using CrcTable = std::array<std::uint32_t, 256>;
constexpr std::array<CrcTable, 16> crc_tables = [] {
  std::array<CrcTable, 16> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) { value = (value & 1) != 0 ? (value >> 1) ^ 0xEDB88320U : value >> 1; }
    tables[0][byte] = value;
  }
  for (std::size_t place = 1; place < tables.size(); ++place) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[place - 1][byte];
      tables[place][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}();

std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t value = 0xFFFFFFFFU;
  const auto byte = [&](std::size_t place) { return std::uint32_t{static_cast<std::uint8_t>(bytes[place])}; };
  // Four bytes from `place` on, each through the table for the number of bytes that follow it in the step.
  const auto four = [&](std::size_t place, std::uint32_t before) {
    const std::size_t behind = crc_tables.size() - 4 - place;
    const std::uint32_t word =
        before ^ (byte(place) | byte(place + 1) << 8 | byte(place + 2) << 16 | byte(place + 3) << 24);
    return crc_tables[behind + 3][word & 0xFF] ^ crc_tables[behind + 2][(word >> 8) & 0xFF] ^
           crc_tables[behind + 1][(word >> 16) & 0xFF] ^ crc_tables[behind][word >> 24];
  };
  while (bytes.size() >= crc_tables.size()) {
    value = (four(12, 0) ^ four(8, 0)) ^ (four(4, 0) ^ four(0, value));
    bytes.remove_prefix(crc_tables.size());
  }
  for (const char each : bytes) {
    value = crc_tables[0][(value ^ static_cast<std::uint8_t>(each)) & 0xFF] ^ (value >> 8);
  }
  return ~value;
}

std::array<char, checksum_width> checksum_text(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::uint32_t value = checksum(bytes);
  std::array<char, checksum_width> hex{};
  for (std::size_t place = hex.size(); place > 0; value >>= 4) { hex[--place] = digits[value & 15]; }
  return hex;
}

// Exact comparison: hexadecimal digits in upper case count as damage.
bool is_checksum(std::string_view text, std::string_view bytes) {
  const std::array<char, checksum_width> wanted = checksum_text(bytes);
  return text == std::string_view(wanted.data(), wanted.size());
}

void append_number(std::string& out, std::int64_t number, char end) {
  std::array<char, 24> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), written.ptr);
  out.push_back(end);
}

void append_optional(std::string& out, const std::optional<std::int64_t>& number) {
  if (number) {
    append_number(out, *number, ' ');
  } else {
    out += "- ";
  }
}

std::optional<std::int64_t> count(const std::optional<Time>& time) {
  return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
}

// Reads words from the front of a text; after the first one that does not fit, every read fails.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string_view word(char end) {
    const std::size_t length = rest_.find(end);
    if (failed_ || length == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return found;
  }

  std::int64_t number(char end) {
    // Fast path for up to 18 digits after leading zeros; longer numbers take the slow path.
    constexpr std::size_t no_overflow = 18;
    std::size_t place = 0;
    while (place < rest_.size() && rest_[place] == '0') { ++place; }
    const std::size_t most = std::min(rest_.size(), place + no_overflow + 1);
    std::int64_t value = 0;
    const std::size_t zeros = place;
    for (; place < most && rest_[place] >= '0' && rest_[place] <= '9'; ++place) {
      value = value * 10 + (rest_[place] - '0');
    }
    if (failed_ || place == 0 || place == most || place - zeros > no_overflow || rest_[place] != end) {
      return to_number(word(end));
    }
    rest_.remove_prefix(place + 1);
    return value;
  }

  std::optional<std::int64_t> optional_number(char end) {
    if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] == end) {
      rest_.remove_prefix(2);
      return std::nullopt;
    }
    return number(end);
  }

  std::string_view text(std::int64_t length) {
    if (failed_ || length < 0 || static_cast<std::uint64_t>(length) > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(length));
    rest_.remove_prefix(found.size());
    return found;
  }

  void fail() { failed_ = true; }
  [[nodiscard]] bool at_end() const { return !failed_ && rest_.empty(); }

 private:
  std::int64_t to_number(std::string_view text) {
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) { failed_ = true; }
    return value;
  }

  std::string_view rest_;
  bool failed_ = false;
};

std::optional<Time> to_time(const std::optional<std::int64_t>& count) {
  return count ? std::optional(Time(Duration(*count))) : std::nullopt;
}

std::optional<GuardFingerprint> read_fingerprint(Reader& reader) {
  const std::string_view hex = reader.word('\n');
  GuardFingerprint print{};
  if (hex == "-") { return std::nullopt; }
  if (hex.size() != print.size() * 2) {
    reader.fail();
    return std::nullopt;
  }
  for (std::size_t index = 0; index < print.size(); ++index) {
    const char* const at = hex.data() + 2 * index;
    const auto read = std::from_chars(at, at + 2, print[index], 16);
    if (read.ec != std::errc() || read.ptr != at + 2) { reader.fail(); }
  }
  return print;
}

}  // namespace

std::string write_heartbeat(Duration since_boot) {
  std::array<char, heartbeat_width + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%020lld", static_cast<long long>(since_boot.count()));
  return {digits.data(), heartbeat_width};
}

std::string write_record(const FileRecord& file) {
  const GuardRecord& record = file.record;
  const GuardError error = record.error.value_or(GuardError{});
  const std::array<std::string_view, text_count> texts{record.key.namespace_name,
                                                       record.key.name,
                                                       record.key.key,
                                                       file.token,
                                                       file.boot,
                                                       record.owner,
                                                       record.result,
                                                       error.type,
                                                       error.message};
  std::string body;
  append_number(body, static_cast<std::int64_t>(record.status), ' ');
  append_number(body, record.fence, ' ');
  append_number(body, record.started_at.time_since_epoch().count(), ' ');
  append_optional(body, count(record.completed_at));
  append_optional(body, count(record.expires_at));
  append_optional(body, record.takeover_after ? std::optional(record.takeover_after->count()) : std::nullopt);
  body += record.fingerprint ? base::to_hex(*record.fingerprint) : "-";
  body.push_back('\n');
  for (std::size_t index = 0; index < text_count; ++index) {
    append_number(body, static_cast<std::int64_t>(texts[index].size()), index + 1 < text_count ? ' ' : '\n');
  }
  for (const std::string_view text : texts) { body += text; }
  std::string whole(magic);
  const std::array<char, checksum_width> sum = checksum_text(body);
  whole.append(sum.data(), sum.size());
  whole.push_back('\n');
  whole += write_heartbeat(file.beat_since_boot);
  whole.push_back('\n');
  return whole += body;
}

std::optional<RecordView> view_record(std::string_view text) {
  if (text.size() < body_offset || !text.starts_with(magic) || text[heartbeat_offset - 1] != '\n') {
    return std::nullopt;
  }
  const std::string_view body = text.substr(body_offset);
  if (!is_checksum(text.substr(magic.size(), checksum_width), body)) { return std::nullopt; }
  std::optional<RecordView> seen(std::in_place);
  RecordView& record = *seen;
  Reader heartbeat(text.substr(heartbeat_offset, heartbeat_width + 1));
  record.beat_since_boot = Duration(heartbeat.number('\n'));
  Reader reader(body);
  const std::int64_t status = reader.number(' ');
  if (status < 0 || status > static_cast<std::int64_t>(GuardStatus::failed)) { return std::nullopt; }
  record.status = static_cast<GuardStatus>(status);
  record.fence = reader.number(' ');
  record.started_at = Time(Duration(reader.number(' ')));
  record.completed_at = to_time(reader.optional_number(' '));
  record.expires_at = to_time(reader.optional_number(' '));
  const std::optional<std::int64_t> takeover = reader.optional_number(' ');
  if (takeover) { record.takeover_after = Duration(*takeover); }
  record.fingerprint = read_fingerprint(reader);
  std::array<std::int64_t, text_count> lengths{};
  for (std::size_t index = 0; index < text_count; ++index) {
    lengths[index] = reader.number(index + 1 < text_count ? ' ' : '\n');
  }
  for (std::size_t index = 0; index < text_count; ++index) { record.texts[index] = reader.text(lengths[index]); }
  if (!reader.at_end() || !heartbeat.at_end()) { return std::nullopt; }
  return seen;
}

void put_outcome(const RecordView& view, GuardRecord& record) {
  record.status = view.status;
  record.fence = view.fence;
  record.started_at = view.started_at;
  record.completed_at = view.completed_at;
  record.expires_at = view.expires_at;
  record.takeover_after = view.takeover_after;
  record.fingerprint = view.fingerprint;
  record.result = view.texts[RecordView::result];
  if (record.status == GuardStatus::failed) {
    record.error = GuardError{.type = std::string(view.texts[RecordView::error_type]),
                              .message = std::string(view.texts[RecordView::error_message])};
  }
}

FileRecord record_of(const RecordView& view) {
  FileRecord file;
  put_outcome(view, file.record);
  file.record.key = {.namespace_name = std::string(view.texts[RecordView::namespace_name]),
                     .name = std::string(view.texts[RecordView::name]),
                     .key = std::string(view.texts[RecordView::key])};
  file.record.owner = view.texts[RecordView::owner];
  file.token = view.texts[RecordView::token];
  file.boot = view.texts[RecordView::boot];
  file.beat_since_boot = view.beat_since_boot;
  return file;
}

std::optional<FileRecord> read_record(std::string_view text) {
  const std::optional<RecordView> seen = view_record(text);
  return seen ? std::optional(record_of(*seen)) : std::nullopt;
}

}  // namespace hapax::guard
