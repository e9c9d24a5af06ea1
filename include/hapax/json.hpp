// Which types hapax writes as JSON and reads from JSON: those with nlohmann's conversions, which users' own types define.
#pragma once

#include <nlohmann/json.hpp>

#include <type_traits>

namespace hapax {

// Types that convert to nlohmann::json, types that convert from it, and types that do both.
template <class T>
concept JsonWritable = std::is_same_v<T, nlohmann::json> || requires(nlohmann::json& json, const T& value) {
  json = value;
};
template <class T>
concept JsonReadable = std::is_same_v<T, nlohmann::json> || requires(const nlohmann::json& json) {
  json.template get<T>();
};
template <class T>
concept JsonValue = JsonWritable<T> && JsonReadable<T>;

}  // namespace hapax
