// The stores of the API's tests, each new and empty.
#pragma once

#include <hapax/hapax.hpp>

#include "base/uuid7.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace hapax {

inline void PrintTo(Status status, std::ostream* out) { *out << to_string(status); }

// Parameterised by "memory", "sqlite" or "postgres".
class OnStore : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string unique = base::new_uuid7().to_string();
    std::erase(unique, '-');
    if (GetParam() == "memory") {
      url_ = "memory:";
    } else if (GetParam() == "sqlite") {
      folder_ = std::filesystem::temp_directory_path() / ("hapax-api-" + unique);
      std::filesystem::create_directories(folder_);
      url_ = "sqlite:" + (folder_ / "store.db").string();
    } else {
      const char* const server = std::getenv("HAPAX_TEST_POSTGRES_URL");
      if (server == nullptr) { throw std::runtime_error("HAPAX_TEST_POSTGRES_URL is not set: ./dev test sets it"); }
      url_ = std::string(server);
      url_ += (url_.find('?') == std::string::npos ? "?schema=api_" : "&schema=api_") + unique;
    }
  }
  void TearDown() override {
    if (!folder_.empty()) { std::filesystem::remove_all(folder_); }
  }

  [[nodiscard]] App open() const { return hapax::open(url_, {.migrate = true}); }

  std::string url_;
  std::filesystem::path folder_;
};

inline const auto all_stores = ::testing::Values("memory", "sqlite", "postgres");

}  // namespace hapax
