#include "store/open.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

namespace hapax::store {

namespace {

enum class Backend : std::uint8_t { memory, sqlite, postgres };

struct Target {
  Backend backend = Backend::memory;
  std::string place;  // the path for SQLite, the whole URL for PostgreSQL
};

[[noreturn]] void refuse(std::string_view url) {
  throw InvalidArgument("store", base::quoted(display_url(url)) +
                                     " is not a store URL; expected sqlite:PATH, postgresql://... or memory:");
}

// The path of "sqlite:orders.db" and "sqlite:/var/orders.db", and of "sqlite:///var/orders.db", the same path in the
// spelling of URLs.
std::string sqlite_path(std::string_view url) {
  std::string_view path = url.substr(std::string_view("sqlite:").size());
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    if (!path.starts_with("/")) {
      throw InvalidArgument("store",
                            base::quoted(url) + " names a host; expected sqlite:PATH or sqlite:///ABSOLUTE/PATH");
    }
  }
  if (path.empty()) { throw InvalidArgument("store", base::quoted(url) + " names no file; expected sqlite:PATH"); }
  if (path.find('\0') != std::string_view::npos) {
    throw InvalidArgument("store", "a path can't contain NUL; expected sqlite:PATH");
  }
  return std::string(path);
}

Target parse(const std::string& url) {
  if (url == "memory:" || url == "memory://") { return {.backend = Backend::memory, .place = ""}; }
  if (url.starts_with("sqlite:")) { return {.backend = Backend::sqlite, .place = sqlite_path(url)}; }
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) {
    return {.backend = Backend::postgres, .place = url};
  }
  refuse(url);
}

// Hides the value of a password parameter, as in postgresql:///db?password=secret.
void hide_parameters(std::string& url) {
  for (const std::string_view name : {"password=", "sslpassword="}) {
    for (std::size_t at = url.find('?'); at != std::string::npos && at < url.size();) {
      at = url.find(name, at + 1);
      if (at == std::string::npos) { break; }
      const bool is_parameter = url[at - 1] == '?' || url[at - 1] == '&';
      const std::size_t value = at + name.size();
      if (is_parameter) {
        const std::size_t end = url.find('&', value);
        url.replace(value, (end == std::string::npos ? url.size() : end) - value, "***");
      }
      at = value;
    }
  }
}

// Hides listen_url: a URL inside the URL, percent-encoded or not, which may have a password of its own.
void hide_listen_url(std::string& url) {
  for (const std::string_view lead : {"?listen_url=", "&listen_url="}) {
    const std::size_t at = url.find(lead);
    if (at != std::string::npos) {
      const std::size_t value = at + lead.size();
      const std::size_t end = url.find('&', value);
      url.replace(value, (end == std::string::npos ? url.size() : end) - value, "***");
    }
  }
}

std::unique_ptr<Store> open_plain(const std::string& url, const OpenOptions& options) {
  const Target target = parse(url);
  switch (target.backend) {
    case Backend::memory: return open_memory(options);
    case Backend::sqlite: return open_sqlite(target.place, options);
    case Backend::postgres: return open_postgres(target.place, options);
  }
  refuse(url);
}

}  // namespace

std::string display_url(std::string_view url) {
  std::string shown(url);
  hide_listen_url(shown);
  hide_parameters(shown);
  const std::size_t scheme = shown.find("://");
  if (scheme == std::string::npos) { return shown; }
  const std::size_t start = scheme + 3;
  // The last @ ends the password, because a password that was not percent-encoded may contain an @, a slash or a
  // question mark. Hiding too much of a URL is better than showing part of a password.
  std::size_t at = shown.rfind('@', shown.find('?', start));
  if (at == std::string::npos || at < start) { at = shown.rfind('@'); }
  if (at == std::string::npos || at < start) { return shown; }
  const std::size_t colon = shown.find(':', start);
  if (colon < at) { shown.replace(colon + 1, at - colon - 1, "***"); }
  return shown;
}

std::unique_ptr<Store> open(const std::string& url, const OpenOptions& options) {
  return with_encryption(open_plain(url, options), options.encryption_key_file);
}

MigrationReport migrate(const std::string& url, int to_version) {
  const Target target = parse(url);
  switch (target.backend) {
    case Backend::memory: return {};
    case Backend::sqlite: return migrate_sqlite(target.place, to_version);
    case Backend::postgres: return migrate_postgres(target.place, to_version);
  }
  refuse(url);
}

SchemaStatus schema_status(const std::string& url) {
  const Target target = parse(url);
  switch (target.backend) {
    case Backend::memory: return {};
    case Backend::sqlite: return schema_status_sqlite(target.place);
    case Backend::postgres: return schema_status_postgres(target.place);
  }
  refuse(url);
}

}  // namespace hapax::store
