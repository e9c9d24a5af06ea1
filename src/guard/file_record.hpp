// A record as the file store writes it: a header and a heartbeat, a line of fields, a line of lengths, then the texts.
//
//   hapax-guard 1 <crc of all but the heartbeat>
//   <heartbeat, 20 digits>
//   <status> <fence> <started> <completed> <expires> <takeover> <fingerprint>
//   <nine lengths>
//   <nine texts, one after the other>
//
// The heartbeat has a fixed offset and width, as it is overwritten in place; every other change is a new file renamed
// over the old one. Numbers are microseconds; "-" stands for none. A file that is not exactly of this form, or whose
// checksum does not match, is damaged.
#pragma once

#include <hapax/guard_store.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::guard {

struct FileRecord {
  GuardRecord record;
  std::string token;
  std::string boot;             // ID of the machine's boot in which the heartbeat counts
  Duration beat_since_boot{0};  // the heartbeat on the monotonic boot clock
};

// A parsed record whose texts still point into the file's text.
struct RecordView {
  enum Text : std::uint8_t { namespace_name, name, key, token, boot, owner, result, error_type, error_message };
  static constexpr std::size_t text_count = 9;

  GuardStatus status = GuardStatus::in_progress;
  std::int64_t fence = 0;
  Time started_at{};
  std::optional<Time> completed_at;
  std::optional<Time> expires_at;
  std::optional<Duration> takeover_after;
  std::optional<GuardFingerprint> fingerprint;
  Duration beat_since_boot{0};
  std::array<std::string_view, text_count> texts{};
};

inline constexpr std::size_t heartbeat_offset = 23;
inline constexpr std::size_t heartbeat_width = 20;

[[nodiscard]] std::string write_record(const FileRecord& record);
[[nodiscard]] std::string write_heartbeat(Duration since_boot);
// None: the text is damaged. The view is valid as long as the text.
[[nodiscard]] std::optional<RecordView> view_record(std::string_view text);
[[nodiscard]] FileRecord record_of(const RecordView& view);
// Fills a new record, without key and owner.
void put_outcome(const RecordView& view, GuardRecord& record);
[[nodiscard]] std::optional<FileRecord> read_record(std::string_view text);

}  // namespace hapax::guard
