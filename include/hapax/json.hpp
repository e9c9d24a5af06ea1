// How values become JSON text and back: through nlohmann's conversions, which users' own types have already.
#pragma once

#include <hapax/error.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

namespace hapax {

// A type for which nlohmann::json has conversions both ways.
template <class T>
concept JsonValue = std::is_same_v<T, nlohmann::json> || requires(nlohmann::json& json, const T& value) {
  json = value;
  {json.template get<T>()};
};

namespace detail {

// JSON has no NaN and no infinity; nlohmann would write null for them.
inline bool has_only_finite(const nlohmann::json& json) {
  if (json.is_number_float()) { return std::isfinite(json.get<double>()); }
  if (json.is_structured()) {
    for (const nlohmann::json& part : json) {
      if (!has_only_finite(part)) { return false; }
    }
  }
  return true;
}

// What a caller hands in. Text that is not UTF-8 and numbers that are not finite throw InvalidArgument naming `field`.
template <class T>
std::string encode_strict(const T& value, const char* field) {
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

// What a handler returned: bytes that are not UTF-8 are replaced, so that a result can always be written.
template <class T>
std::string encode_lenient(const T& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class T>
T decode(const std::string& text, const char* field) {
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

}  // namespace detail

}  // namespace hapax
