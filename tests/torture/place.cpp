#include "torture/place.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace hapax::torture {
namespace {

std::string make_folder(const std::string& name) {
  const char* base = std::getenv("TMPDIR");
  std::string folder = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/hapax-" + name + ".XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make " + folder);
  return folder;
}

}  // namespace

Place make_place(const std::string& store, const std::string& name) {
  Place place{.folder = make_folder(name), .server = {}, .url = "", .schema_prefix = ""};
  if (store != "postgres") {
    place.url = "sqlite:" + place.folder + "/" + name + ".db";
    return place;
  }
  const std::string schema = name + "_" + std::to_string(::getpid());
  place.server.emplace();
  place.url = place.server->url() + "?schema=" + schema;
  place.schema_prefix = schema + ".";
  return place;
}

std::string first_lines(const std::string& path) {
  std::ifstream file(path);
  std::string text(400, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace hapax::torture
