// Conversion between values and JSON text. Not for direct use: everything here is in hapax::detail and may change.
#pragma once

#include <hapax/error.hpp>
#include <hapax/json.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace hapax::detail {

// Whether converting a From to a To may lose the number's fraction, sign or upper digits.
template <class From, class To>
inline constexpr bool narrows = [] {
  if constexpr (!std::is_arithmetic_v<From> || !std::is_arithmetic_v<To> || std::is_same_v<From, To>) {
    return false;
  } else if constexpr (std::is_floating_point_v<From>) {
    return std::is_integral_v<To> || std::numeric_limits<From>::digits > std::numeric_limits<To>::digits;
  } else if constexpr (std::is_same_v<To, bool> || (std::is_signed_v<From> && std::is_unsigned_v<To>)) {
    return true;
  } else {
    return std::numeric_limits<From>::digits > std::numeric_limits<To>::digits;
  }
}();

// Whether all numbers are finite: JSON has no NaN and no infinity, and nlohmann would write null for them.
inline bool has_only_finite(const nlohmann::json& json) {
  if (json.is_number_float()) { return std::isfinite(json.get<double>()); }
  if (json.is_structured()) {
    for (const nlohmann::json& part : json) {
      if (!has_only_finite(part)) { return false; }
    }
  }
  return true;
}

// Encodes a caller's input. Text that is not UTF-8 and numbers that are not finite throw InvalidArgument naming
// `field`.
template <class T>
std::string encode_strict(const T& value, const char* field) {
  static_assert(
      JsonWritable<T>,
      "this type has no conversion to JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, member, ...) after "
      "it, in its namespace (docs/guides/tasks.md)");
  try {
    const nlohmann::json json(value);
    if (!has_only_finite(json)) {
      throw InvalidArgument(field,
                            "cannot be written as JSON: it has a number that is not finite; expected a finite one, or "
                            "null (JSON has neither NaN nor Infinity)");
    }
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    constexpr int not_utf8 = 316;  // nlohmann's number for it, stable by its documentation
    if (error.id == not_utf8) {
      throw InvalidArgument(field,
                            "cannot be written as JSON: it has text that is not UTF-8; expected UTF-8, such as "
                            "\"Z\xc3\xbcrich\" in two bytes for the \xc3\xbc, and other bytes as base64");
    }
    throw InvalidArgument(field, std::string("cannot be written as JSON: ") + error.what());
  }
}

// Encodes a handler's result. Bytes that are not UTF-8 are replaced, so that every result can be written.
template <class T>
std::string encode_lenient(const T& value) {
  static_assert(
      JsonWritable<T>,
      "this type has no conversion to JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, member, ...) after "
      "it, in its namespace (docs/guides/tasks.md)");
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Decodes JSON text. Throws InvalidArgument naming `field` when it does not convert to T.
template <class T>
T decode(const std::string& text, const char* field) {
  static_assert(JsonReadable<T>,
                "this type has no conversion from JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, member, ...) "
                "after it, in its namespace, and give it a default constructor (docs/guides/tasks.md)");
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    if constexpr (std::is_same_v<T, nlohmann::json>) {
      return json;
    } else {
      return json.template get<T>();
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(field, std::string("does not have the expected shape: ") + error.what());
  }
}

// Checks the types of a task or workflow where its descriptor is declared, so that the compiler names that line.
template <class In, class Out>
constexpr void require_json_types() {
  static_assert(
      JsonValue<In>,
      "the input type has no conversion to and from JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, member, "
      "...) after it, in its namespace and before the task or workflow, and give it a default constructor "
      "(docs/guides/tasks.md)");
  if constexpr (!std::is_void_v<Out>) {
    static_assert(JsonValue<Out>,
                  "the result type has no conversion to and from JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, "
                  "member, ...) after it, in its namespace and before the task or workflow, and give it a default "
                  "constructor; a task without a result is Task<In> (docs/guides/tasks.md)");
  }
}

}  // namespace hapax::detail
