// One field of a cron expression, read into the sets of CronFields.
#pragma once

#include "schedule/cron.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace hapax::schedule {

enum class FieldKind { second, minute, hour, day, month, weekday };

// A field's text and where it stands, for the messages.
struct FieldText {
  FieldKind kind;
  std::string_view text;
  std::size_t number;         // from 1
  std::size_t of;             // 5 or 6
  std::size_t position;       // of its first character in the expression, from 1
  std::string_view argument;  // what the caller calls the expression, "cron"
};

// Adds what the field means. Throws InvalidArgument.
void read_field(const FieldText& field, CronFields& into);

// Throws InvalidArgument: the argument, the field and its place, what is wrong, and an example of the field.
[[noreturn]] void refuse_field(const FieldText& field, const std::string& reason);

}  // namespace hapax::schedule
