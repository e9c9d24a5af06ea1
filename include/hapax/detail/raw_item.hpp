// The items of App::enqueue_many as JSON. Not for direct use: everything here is in hapax::detail and may change.
#pragma once

#include <hapax/options.hpp>

#include <functional>
#include <optional>
#include <string>

namespace hapax::detail {

// One encoded item; the source returns none at its end.
struct RawItem {
  std::string input{};
  std::optional<EnqueueOptions> options{};  // none: BulkOptions::each
};
using RawSource = std::function<std::optional<RawItem>()>;

}  // namespace hapax::detail
