// The description of the API and its routes agree, both ways.
#include "api/routes/description.hpp"

#include "api/routes/api.hpp"
#include "engine/engine.hpp"
#include "http/health.hpp"
#include "http/probes.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace hapax::api {
namespace {

// "GET /v1/queues/{queue}" → the scope that it requires.
using Operations = std::map<std::string, std::string>;

Operations described() {
  Operations found;
  const nlohmann::json document = nlohmann::json::parse(openapi_json());
  for (const auto& [path, item] : document["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") { continue; }
      std::string name = method;
      for (char& c : name) { c = static_cast<char>(c - 'a' + 'A'); }
      found[name + " " + path] = operation.value("x-scope", "missing");
    }
  }
  return found;
}

Operations served() {
  const auto engine = std::make_shared<engine::Engine>(store::open("memory:"));
  http::Metrics metrics;
  http::Readiness readiness;
  http::Router router;
  const auto api = std::make_shared<Api>(engine, metrics);
  add_probes(router, readiness, metrics);
  add_api_routes(router, api);
  Operations found;
  for (const http::Route* route : router.routes()) {
    found[route->method + " " + route->pattern] = std::string(http::to_string(route->scope));
  }
  api->stop();
  return found;
}

TEST(OpenApi, DescribesEveryRouteAndNoOther) { EXPECT_EQ(described(), served()); }

TEST(OpenApi, EveryReferenceIsThere) {
  const nlohmann::json document = nlohmann::json::parse(openapi_json());
  EXPECT_EQ(document["openapi"], "3.1.0");
  const nlohmann::json flat = document.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (!path.ends_with("/$ref")) { continue; }
    const std::string target = value.get<std::string>();
    ASSERT_TRUE(target.starts_with("#/")) << path;
    EXPECT_TRUE(document.contains(nlohmann::json::json_pointer(target.substr(1)))) << path << " names " << target;
  }
}

}  // namespace
}  // namespace hapax::api
