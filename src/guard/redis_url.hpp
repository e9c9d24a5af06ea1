// The address and credentials of a Redis server, from a URL.
#pragma once

#include <hapax/time.hpp>

#include "base/stream.hpp"

#include <cstddef>
#include <string>

namespace hapax::guard {

struct RedisPlace {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string socket;  // a path; used in place of host and port
  std::string user;
  std::string password;
  int database = 0;
  std::string prefix = "hapax:guard:";
  Duration connect_timeout = std::chrono::seconds(2);
  Duration timeout = std::chrono::seconds(2);
  std::size_t connections = 16;
  bool tls = false;
  base::TlsFiles tls_files;
  std::string shown;  // for messages; without the password
};

// redis://[user[:password]@]host[:port][/database], rediss:// for the same over TLS, or
// redis+unix://[user[:password]@]/path/of.sock, each with parameters after a question mark: prefix, timeout,
// connect_timeout, connections, database (for a socket), and for TLS ca_file, cert_file and key_file. Throws
// InvalidArgument for anything else. No message ever shows the password.
[[nodiscard]] RedisPlace parse_redis_url(const std::string& url);

[[nodiscard]] bool is_redis_url(const std::string& url);

}  // namespace hapax::guard
