// How an encrypted payload begins (store/encrypted/envelope.hpp).
#pragma once

#include <string_view>

namespace hapax::model {

inline constexpr std::string_view envelope_mark = R"({"$hapax":"aes-256-gcm","key":")";

}  // namespace hapax::model
