// The dashboard's own routes: its pages, all of which are one document, and the files that the document names.
//
// The routes need no token, as the files hold no data of the store; the document's script calls the API with the reader's
// token. The routes are GET only, and are not part of the API's description.
#pragma once

#include "http/router.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

void add_dashboard_routes(http::Router& router);

// The document with the base of its relative addresses for a path of so many segments: "executions/0193…" is two, so the
// base is "../". A relative base is right below any path of a proxy, which the server does not know.
[[nodiscard]] std::string with_base(std::string_view document, std::size_t segments);

// Whether an Accept-Encoding header takes gzip.
[[nodiscard]] bool takes_gzip(const std::vector<std::string_view>& headers);

}  // namespace hapax::api
