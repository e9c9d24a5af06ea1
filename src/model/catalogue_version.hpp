// CatalogueVersions: by which versions of their namespaces' catalogues the requests of one call were made.
//
// A store compares them with its own inside the admitting transaction (store::CatalogueChanged). One thread; views into
// the requests.
#pragma once

#include "model/execution.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

namespace hapax::model {

class CatalogueVersions {
 public:
  CatalogueVersions() = default;
  CatalogueVersions(CatalogueVersions&&) = default;
  CatalogueVersions& operator=(CatalogueVersions&&) = default;
  CatalogueVersions(const CatalogueVersions&) = delete;
  CatalogueVersions& operator=(const CatalogueVersions&) = delete;
  ~CatalogueVersions() = default;

  // The oldest version of a namespace counts. Neighbours mostly share their namespace and version.
  void add(const NewExecution& item) {
    if (item.catalogue_version == NewExecution::no_catalogue) { return; }
    if (last_ != nullptr && last_ns_ == item.queue.ns) {
      *last_ = std::min(*last_, item.catalogue_version);
      return;
    }
    const auto [at, is_new] = oldest_.try_emplace(item.queue.ns, item.catalogue_version);
    if (!is_new) { at->second = std::min(at->second, item.catalogue_version); }
    last_ns_ = at->first;
    last_ = &at->second;
  }

  // By namespace.
  [[nodiscard]] const std::map<std::string_view, std::int32_t>& oldest() const { return oldest_; }

 private:
  std::map<std::string_view, std::int32_t> oldest_;
  std::string_view last_ns_;
  std::int32_t* last_ = nullptr;
};

}  // namespace hapax::model
