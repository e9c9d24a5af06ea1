#include "http/router.hpp"

#include <gmock/gmock.h>

namespace hapax::http {
namespace {

Route route(std::string method, std::string pattern) {
  return {.method = std::move(method), .pattern = std::move(pattern), .handler = [](Call&) { return Response{}; }};
}

class Routes : public testing::Test {
 protected:
  Routes() {
    // Parameters before literals, to show that the order of adding routes does not matter.
    for (const char* pattern :
         {"/v1/executions/{id}", "/v1/executions/batch", "/v1/executions/{id}/result", "/", "/v1/executions"}) {
      router_.add(route("GET", pattern));
    }
    router_.add(route("POST", "/v1/executions/batch"));
    router_.add(route("DELETE", "/v1/executions/{id}"));
  }
  [[nodiscard]] std::string found(std::string_view method, const std::vector<std::string>& segments) const {
    return router_.find(method, segments).route->pattern;
  }

  Router router_;
};

TEST_F(Routes, AreFoundByMethodAndPath) {
  EXPECT_EQ(found("GET", {}), "/");
  EXPECT_EQ(found("GET", {"v1", "executions"}), "/v1/executions");
  EXPECT_EQ(found("GET", {"v1", "executions", "batch"}), "/v1/executions/batch");
  EXPECT_EQ(found("HEAD", {"v1", "executions", "x"}), "/v1/executions/{id}");
  const std::vector<std::string> segments{"v1", "executions", "a/b", "result"};
  const Router::Match match = router_.find("GET", segments);
  ASSERT_EQ(match.parameters.size(), 1U);
  EXPECT_EQ(match.parameters[0].first, "id");
  EXPECT_EQ(*match.parameters[0].second, "a/b");
}

TEST_F(Routes, AreNotFoundOtherwise) {
  EXPECT_THROW((void)found("GET", {"v1"}), NotFound);
  EXPECT_THROW((void)found("GET", {"v1", "executions", ""}), NotFound);
  EXPECT_THROW((void)found("GET", {"v1", "executions", "x", "y"}), NotFound);
  try {
    (void)found("PUT", {"v1", "executions", "x"});
    FAIL();
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status(), 405);
    EXPECT_THAT(error.headers(), testing::ElementsAre(testing::Pair("Allow", "GET, HEAD, DELETE, OPTIONS")));
  }
}

TEST_F(Routes, AreThereOnce) {
  EXPECT_THROW(router_.add(route("GET", "/v1/executions")), UsageError);
  EXPECT_THROW(router_.add(route("PUT", "/v1/executions/{name}")), UsageError);
  EXPECT_THROW(router_.add(route("GET", "v1")), UsageError);
  EXPECT_THROW(router_.add(route("GET", "/v1//x")), UsageError);
  EXPECT_EQ(router_.routes().size(), 7U);
}

}  // namespace
}  // namespace hapax::http
