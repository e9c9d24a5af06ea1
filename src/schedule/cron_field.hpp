// Parses one field of a cron expression into the sets of CronFields.
#pragma once

#include "schedule/cron.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace hapax::schedule {

enum class FieldKind { second, minute, hour, day, month, weekday };

// A field's text and its position, for error messages.
struct FieldText {
  FieldKind kind;
  std::string_view text;
  std::size_t number;         // from 1
  std::size_t of;             // fields in the expression: 5 or 6
  std::size_t position;       // of the field's first character in the expression, from 1
  std::string_view argument;  // the caller's name for the expression, "cron"
};

// Adds the field's values to `into`. Throws InvalidArgument.
void read_field(const FieldText& field, CronFields& into);

// Throws InvalidArgument with the argument, the field and its position, the problem, and an example of the field.
[[noreturn]] void refuse_field(const FieldText& field, const std::string& reason);

}  // namespace hapax::schedule
