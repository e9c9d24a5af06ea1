#include "api/routes/dashboard.hpp"

#include "api/routes/dashboard_files.hpp"
#include "base/text.hpp"
#include "http/head.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <array>

namespace hapax::api {

namespace {

// The dashboard's addresses (web/src/app.tsx). An unknown path stays 404 for programs that call the API.
constexpr std::array dashboard_pages{
    "/",          "/executions", "/executions/{id}",      "/queues", "/queues/{queue}", "/dead-letters",
    "/schedules", "/workers",    "/schedules/{activity}", "/guards", "/audit",          "/settings"};

constexpr std::string_view base_mark = "<base href=\"./\"";

constexpr std::string_view content_security_policy =
    "default-src 'self'; base-uri 'self'; frame-ancestors 'none'; form-action 'self'; object-src 'none'";

const DashboardFile* find_dashboard_file(std::string_view path) {
  const auto files = dashboard_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const DashboardFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

void add_safety(http::Response& response) {
  response.headers.emplace_back("Content-Security-Policy", content_security_policy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
}

bool browser_has(const http::Request& request, std::string_view etag) {
  const std::string_view known = request.header("if-none-match").value_or("");
  return known == "*" || known.find(etag) != std::string_view::npos;
}

// A page's parameter is read by the script. Nothing of it is a path here, so text that is a path elsewhere names no page.
bool climbs(const std::string& segment) {
  return segment.starts_with("../") || segment.ends_with("/..") || segment.find("/../") != std::string::npos;
}

http::Response dashboard_page(http::Call& call) {
  const http::Request& request = call.request();
  const DashboardFile* const document = find_dashboard_file("index.html");
  if (document == nullptr || std::any_of(request.segments.begin(), request.segments.end(), climbs)) {
    throw NotFound("there is nothing at this path");
  }
  const std::size_t segments = request.segments.size();
  std::string etag(document->etag);
  etag.insert(etag.size() - 1, "-" + std::to_string(segments));
  http::Response response{.content_type = document->content_type};
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("ETag", etag);
  add_safety(response);
  if (browser_has(request, etag)) {
    response.status = 304;
  } else {
    response.body = with_base(document->plain, segments);
  }
  return response;
}

// Built files have a hash of their content in their names, so that a browser never has to ask for them again.
http::Response dashboard_asset(http::Call& call) {
  const DashboardFile* const file = find_dashboard_file("assets/" + call.parameter("file"));
  if (file == nullptr) { throw NotFound("there is nothing at this path"); }
  http::Response response{.content_type = file->content_type};
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  response.headers.emplace_back("ETag", file->etag);
  response.headers.emplace_back("Vary", "Accept-Encoding");
  add_safety(response);
  if (browser_has(call.request(), file->etag)) {
    response.status = 304;
  } else if (takes_gzip(call.request().header_values("accept-encoding"))) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = file->gzip;
  } else {
    response.body = file->plain;
  }
  return response;
}

}  // namespace

std::string with_base(std::string_view document, std::size_t segments) {
  std::string text(document);
  const std::size_t at = text.find(base_mark);
  if (at == std::string::npos || segments < 2) { return text; }
  std::string up;
  for (std::size_t level = 1; level < segments; ++level) { up += "../"; }
  return text.replace(at, base_mark.size(), "<base href=\"" + up + "\"");
}

bool takes_gzip(const std::vector<std::string_view>& headers) {
  for (std::string_view rest : headers) {
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const std::string_view item = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t semicolon = std::min(item.find(';'), item.size());
      if (!http::same_ignoring_case(base::trimmed(item.substr(0, semicolon)), "gzip")) { continue; }
      const std::string_view weight = base::trimmed(item.substr(std::min(semicolon + 1, item.size())));
      // "gzip;q=0", also "q=0.000", refuses it.
      const bool refused = weight.starts_with("q=0") && weight.find_first_not_of("0.", 2) == std::string_view::npos;
      return !refused;
    }
  }
  return false;
}

void add_dashboard_routes(http::Router& router) {
  for (const char* const pattern : dashboard_pages) {
    router.add({.method = "GET", .pattern = pattern, .handler = [](http::Call& call) { return dashboard_page(call); }});
  }
  router.add({.method = "GET", .pattern = "/assets/{file}", .handler = [](http::Call& call) {
                return dashboard_asset(call);
              }});
}

}  // namespace hapax::api
