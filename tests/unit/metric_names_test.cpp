// A program's own metrics have the names of `hapax serve`'s.
#include <hapax/prometheus.hpp>

#include "api/routes/api.hpp"
#include "engine/engine.hpp"
#include "http/metrics.hpp"
#include "store/open.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <regex>
#include <set>
#include <string>

namespace hapax {
namespace {

std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex line("# TYPE (\\S+) \\S+");
  for (std::sregex_iterator found(text.begin(), text.end(), line), end; found != end; ++found) {
    if (!(*found)[1].str().starts_with("hapax_http_")) { names.insert((*found)[1]); }
  }
  return names;
}

TEST(MetricNames, OfAProgramAreThoseOfTheServer) {
  http::Metrics metrics;
  const auto engine = std::make_shared<engine::Engine>(store::open("memory:"));
  const api::Api api(engine, metrics);
  const PrometheusMetrics own;
  const std::set<std::string> names = names_in(own.text());
  EXPECT_EQ(names, names_in(metrics.text({.admin = true})));
  EXPECT_GT(names.size(), 25U);
  EXPECT_TRUE(names.contains("hapax_queue_depth"));
}

}  // namespace
}  // namespace hapax
