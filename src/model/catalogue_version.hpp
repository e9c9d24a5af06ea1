// CatalogueVersions: the catalogue versions that the requests of one admission call were made with, by namespace.
//
// The store compares them with its own versions inside the admitting transaction (store::CatalogueChanged, decision
// 47). One thread. Holds views into the requests, which must outlive it.
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

  // Keeps the oldest version per namespace. Consecutive requests mostly share a namespace, so the last entry is cached.
  void add(const NewExecution& item) {
    if (item.catalogue_version == NewExecution::no_catalogue) { return; }
    if (last_ != nullptr && last_ns_ == item.queue.namespace_name) {
      *last_ = std::min(*last_, item.catalogue_version);
      return;
    }
    const auto [at, is_new] = oldest_.try_emplace(item.queue.namespace_name, item.catalogue_version);
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
