#include "store/postgres/settings.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "store/open.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace hapax::store::postgres {

namespace {

constexpr std::size_t schema_bytes_max = 63;  // PostgreSQL cuts longer names
constexpr int pool_max = 1000;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// Takes hapax's own parameters out of the query part and leaves a URL that libpq understands.
std::vector<std::pair<std::string, std::string>> take_own_parameters(std::string& url) {
  static constexpr std::array<std::string_view, 6> ours{"schema",     "prepared", "pool",
                                                        "listen_url", "awake",    "answer_timeout"};
  std::vector<std::pair<std::string, std::string>> found;
  const std::size_t question = url.find('?');
  if (question == std::string::npos) { return found; }
  const std::string query = url.substr(question + 1);
  url.resize(question);
  char joint = '?';
  for (std::size_t at = 0; at <= query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string part = query.substr(at, end - at);
    const std::string name = part.substr(0, part.find('='));
    if (std::find(ours.begin(), ours.end(), name) != ours.end()) {
      found.emplace_back(name, part.size() > name.size() ? percent_decode(part.substr(name.size() + 1)) : "");
    } else if (!part.empty()) {
      url += joint + part;
      joint = '&';
    }
    at = end + 1;
  }
  return found;
}

ConnectionOptions libpq_options(const std::string& url, std::string_view field) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(url.c_str(), &message),
                                                                            &PQconninfoFree);
  if (parsed == nullptr) {
    const std::unique_ptr<char, decltype(&PQfreemem)> owned(message, &PQfreemem);
    // libpq repeats the URL, which may contain a password, so its message is not passed on.
    throw InvalidArgument(std::string(field), base::quoted(display_url(url)) +
                                                  " is not a PostgreSQL URL; expected "
                                                  "postgresql://user:password@host:port/database?parameters");
  }
  ConnectionOptions options;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) { options.emplace_back(option->keyword, option->val); }
  }
  return options;
}

void set_default(ConnectionOptions& options, const std::string& name, const std::string& value) {
  const bool given =
      std::any_of(options.begin(), options.end(), [&](const auto& option) { return option.first == name; });
  if (!given) { options.emplace_back(name, value); }
}

// A peer that vanished is noticed within 10 s, whether the connection is idle or not.
void add_defaults(ConnectionOptions& options) {
  set_default(options, "application_name", "hapax");
  set_default(options, "client_encoding", "UTF8");
  set_default(options, "keepalives_idle", "4");
  set_default(options, "keepalives_interval", "2");
  set_default(options, "keepalives_count", "3");
  set_default(options, "tcp_user_timeout", "10000");
  // Several hosts mean the one that accepts writes; a standby only reads.
  const bool several = std::any_of(options.begin(), options.end(), [](const auto& option) {
    return option.first.starts_with("host") && option.second.find(',') != std::string::npos;
  });
  if (several) { set_default(options, "target_session_attrs", "read-write"); }
}

std::string quote_identifier(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) { quoted += c == '"' ? "\"\"" : std::string(1, c); }
  return quoted + "\"";
}

void take_schema(Settings& settings, const std::string& value) {
  if (value.empty() || value.size() > schema_bytes_max || !base::is_valid_utf8(value) ||
      base::has_control_characters(value)) {
    throw InvalidArgument("schema", base::quoted(value) + "; expected 1 to 63 bytes of text");
  }
  settings.schema = value;
  settings.quoted_schema = quote_identifier(value);
}

void take_pool(Settings& settings, const std::string& value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), settings.pool);
  if (error != std::errc() || end != value.data() + value.size() || settings.pool < 1 || settings.pool > pool_max) {
    throw InvalidArgument("pool", base::quoted(value) + "; expected a number of connections from 1 to 1000");
  }
}

void take_answer_timeout(Settings& settings, const std::string& value) {
  settings.answer_timeout = parse_duration(value, "answer_timeout");
  if (settings.answer_timeout < answer_timeout_min || settings.answer_timeout > answer_timeout_max) {
    throw InvalidArgument("answer_timeout", "'" + base::printable(value) + "'; expected " +
                                                format_duration(answer_timeout_min) + " to " +
                                                format_duration(answer_timeout_max));
  }
}

bool is_on(const std::string& name, const std::string& value) {
  if (value == "on" || value == "off") { return value == "on"; }
  throw InvalidArgument(name, base::quoted(value) + "; expected on or off");
}

}  // namespace

Settings parse_settings(const std::string& url, Duration connect_timeout) {
  Settings settings;
  settings.connect_timeout = connect_timeout;
  settings.location = base::echo(display_url(url));
  std::string rest = url;
  for (const auto& [name, value] : take_own_parameters(rest)) {
    if (name == "schema") {
      take_schema(settings, value);
    } else if (name == "pool") {
      take_pool(settings, value);
    } else if (name == "listen_url") {
      ConnectionOptions listen = libpq_options(value, "listen_url");
      add_defaults(listen);
      settings.listen = std::make_shared<Hosts>(listen);
    } else if (name == "answer_timeout") {
      take_answer_timeout(settings, value);
    } else {
      (name == "awake" ? settings.awake : settings.prepared) = is_on(name, value);
    }
  }
  ConnectionOptions options = libpq_options(rest, "store");
  add_defaults(options);
  settings.hosts = std::make_shared<Hosts>(options);
  return settings;
}

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_of_a_host(const std::string& name) { return name == "host" || name == "hostaddr" || name == "port"; }

}  // namespace

// One port may apply to all hosts. Lists of unequal length are left to libpq, which reports what is wrong with them.
Hosts::Hosts(const ConnectionOptions& options) {
  std::size_t count = 1;
  for (const auto& [name, value] : options) {
    if (name == "host" || name == "hostaddr") { count = std::max(count, split(value).size()); }
  }
  const bool fits = std::all_of(options.begin(), options.end(), [&](const auto& option) {
    const std::size_t parts = is_of_a_host(option.first) ? split(option.second).size() : count;
    return parts == count || (option.first == "port" && parts == 1);
  });
  if (count == 1 || !fits) {
    hosts_.push_back(options);
    return;
  }
  for (std::size_t host = 0; host < count; ++host) {
    ConnectionOptions own;
    for (const auto& [name, value] : options) {
      const std::vector<std::string> parts = is_of_a_host(name) ? split(value) : std::vector{value};
      own.emplace_back(name, parts.size() == 1 ? parts.front() : parts[host]);
    }
    hosts_.push_back(std::move(own));
  }
}

void Hosts::hung(std::size_t host) {
  std::size_t expected = host;
  first_.compare_exchange_strong(expected, (host + 1) % hosts_.size(), std::memory_order_relaxed);
}

bool Hosts::is_current(std::uint32_t timeline) {
  std::uint32_t seen = timeline_.load();
  while (timeline > seen && !timeline_.compare_exchange_weak(seen, timeline)) {}
  return timeline >= seen;
}

}  // namespace hapax::store::postgres
