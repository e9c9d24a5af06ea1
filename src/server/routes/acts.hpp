// Cancelling and retrying many executions, for the routes that do.
#pragma once

#include "server/routes/api.hpp"
#include "server/routes/listing.hpp"

#include <string>

namespace hapax::server {

struct RetryOptions {
  bool new_effect_key = false;
};

// {"retried","refused","executions":[{"id","verdict",…}]}; the list has at most limits::list_page of them. With
// "more":true when it was broken off.
[[nodiscard]] std::string retry_selected(Api& api, Call& call, const Selection& selection, const RetryOptions& options);

}  // namespace hapax::server
