#include "http/metrics.hpp"

#include <exception>
#include <utility>

namespace hapax::http {

void Metrics::on_look(Collector collector) {
  const std::lock_guard lock(collectors_mutex_);
  collectors_.push_back(std::move(collector));
}

std::string Metrics::text(const Principal& principal) const {
  MetricsText out;
  // Process-wide metrics cover all tenants, so only administrators see them.
  if (principal.admin) { visit(out); }
  std::vector<Collector> collectors;
  {
    const std::lock_guard lock(collectors_mutex_);
    collectors = collectors_;
  }
  std::string text = out.text();
  for (const Collector& collector : collectors) {
    // Each collector writes into a text of its own, so that one that throws leaves no partial output.
    MetricsText of_one;
    try {
      collector(of_one, principal);
      text += of_one.text();
    } catch (const std::exception&) { text += "# a part of the metrics cannot be read now\n"; }
  }
  return text;
}

}  // namespace hapax::http
