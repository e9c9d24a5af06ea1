// Cancelling and retrying many executions, shared by routes.
#pragma once

#include "api/routes/api.hpp"
#include "api/routes/listing.hpp"

#include <string>

namespace hapax::api {

// {"retried","refused","executions":[{"id","verdict",…}]}; the list has at most limits::list_page entries. With
// "more":true when the act was interrupted.
[[nodiscard]] std::string retry_selected(Api& api, http::Call& call, app::Selection selection,
                                         const app::RetryOptions& options);

}  // namespace hapax::api
