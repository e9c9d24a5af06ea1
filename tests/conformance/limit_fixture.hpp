// Shared by the tests of limits: set limits, admit many executions, read the queue.
#pragma once

#include "conformance/fixture.hpp"

namespace hapax::conformance {

class LimitConformance : public Conformance {
 protected:
  void limit(const QueuePatch& patch, const std::string& queue = "default") {
    store().configure_queue({.name = queue}, patch);
  }

  std::vector<Uuid> admit_many(int count, const std::optional<std::string>& key = std::nullopt,
                               const std::string& queue = "default") {
    std::vector<NewExecution> items;
    for (int i = 0; i < count; ++i) {
      NewExecution item = request("work", queue);
      if (key) { item.limit_key = LimitKey{.text = *key}; }
      items.push_back(std::move(item));
    }
    std::vector<Uuid> ids;
    for (const Admission& admission : store().admit(items)) {
      EXPECT_TRUE(admission.created());
      ids.push_back(admission.id);
    }
    return ids;
  }

  QueueInfo info(const std::string& queue = "default") {
    for (const QueueInfo& one : store().queues("default")) {
      if (one.queue.name == queue) { return one; }
    }
    ADD_FAILURE() << "no queue " << queue;
    return {};
  }

  // The row versions (xmin) of all live rows, which change with every write. PostgreSQL only; empty on other stores.
  static std::string row_versions(Store& from) {
    std::string versions;
    if (from.info().backend != "postgresql") { return versions; }
    for (const auto& row : from.sql("SELECT id, xmin::text FROM live ORDER BY id", 100).rows) {
      versions += row[0].value_or("") + " " + row[1].value_or("") + "\n";
    }
    return versions;
  }
};

}  // namespace hapax::conformance
