// How values become JSON text and back: through nlohmann's conversions, which users' own types have already.
#pragma once

#include <hapax/error.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <type_traits>

namespace hapax {

// A type for which nlohmann::json has conversions both ways.
template <class T>
concept JsonValue = std::is_same_v<T, nlohmann::json> || requires(nlohmann::json& json, const T& value) {
  json = value;
  { json.template get<T>() };
};

namespace detail {

// What a caller hands in. Text that is not UTF-8 throws InvalidArgument naming `field`.
template <class T>
std::string encode_strict(const T& value, const char* field) {
  try {
    return nlohmann::json(value).dump();
  } catch (const nlohmann::json::exception& error) {
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
