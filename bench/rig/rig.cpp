#include "rig.hpp"

#include "store/open.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace rig {

std::string env(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') throw std::runtime_error(std::string(name) + " is not set");
  return value;
}

std::string env_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

int env_int(const char* name, int otherwise) { return std::stoi(env_or(name, std::to_string(otherwise))); }

std::string fresh_store_url(const std::string& label) {
  std::string url;
  if (env_or("HAPAX_RIG_STORE", "sqlite") == "sqlite") {
    url = "sqlite:" + env("SCRATCH_DIR") + "/" + label + ".db";
  } else {
    url = env("DATABASE_URL");
    url += (url.find('?') == std::string::npos ? "?schema=" : "&schema=") + label;
  }
  hapax::store::migrate(url);
  return url;
}

void analyze_if_postgres() {
  if (env_or("HAPAX_RIG_STORE", "sqlite") == "sqlite") return;
  PGconn* connection = PQconnectdb(env("DATABASE_URL").c_str());
  PGresult* result = PQexec(connection, "analyze");
  const bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
  const std::string message = PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
  if (!done) throw std::runtime_error("analyze: " + message);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(std::floor(static_cast<double>(values.size()) * q));
  return values.at(std::min(values.size() - 1, index));
}

double median(std::vector<double> values) { return quantile(values, 0.5); }

}  // namespace rig
