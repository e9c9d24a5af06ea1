// Where the PostgreSQL store connects and how, as its URL says.
#pragma once

#include <hapax/time.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

using ConnectionOptions = std::vector<std::pair<std::string, std::string>>;

struct Settings {
  ConnectionOptions options;                // libpq's keywords, the password included
  std::optional<ConnectionOptions> listen;  // from listen_url
  std::string schema = "hapax";
  std::string quoted_schema = "\"hapax\"";
  bool awake = true;     // off: nobody waits awake (awake_wait.hpp)
  bool prepared = true;  // off: unnamed statements, for poolers in transaction mode
  int pool = 16;         // connections at most, listener and notifier apart
  std::string location;  // for messages: no password
  Duration connect_timeout = std::chrono::seconds(10);
};

// Throws InvalidArgument naming the parameter. Messages never carry the password.
[[nodiscard]] Settings parse_settings(const std::string& url, Duration connect_timeout);

}  // namespace hapax::store::postgres
