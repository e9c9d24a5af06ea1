// A record as the file store writes it: one line of numbers, one of lengths, then the texts.
//
//   hapax-guard 1 <crc of all but the heartbeat>
//   <heartbeat, 20 digits>
//   <status> <fence> <started> <completed> <expires> <takeover> <fingerprint>
//   <nine lengths>
//   <nine texts, one after the other>
//
// The heartbeat stands at a fixed place with a fixed width, as it is written over in place; everything else changes only
// by a new file under the old one's name. Numbers are microseconds; "-" stands for none. Nothing in a file is believed: what
// is not exactly of this form, or does not have its checksum, is damaged.
#pragma once

#include <hapax/guard_store.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace hapax::guard {

struct FileRecord {
  GuardRecord record;
  std::string token;
  std::string boot;             // the boot of the machine in which the heartbeat counts
  Duration beat_since_boot{0};  // the heartbeat on the clock that does not jump
};

inline constexpr std::size_t heartbeat_offset = 23;
inline constexpr std::size_t heartbeat_width = 20;

[[nodiscard]] std::string write_record(const FileRecord& record);
[[nodiscard]] std::string write_heartbeat(Duration since_boot);
// None when it is damaged.
[[nodiscard]] std::optional<FileRecord> read_record(std::string_view text);

}  // namespace hapax::guard
