#include "telemetry/metrics.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hapax::telemetry {

namespace {

constexpr std::array latency_bounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                       0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
constexpr std::array size_bounds = {1.0,   2.0,   5.0,    10.0,   20.0,   50.0,   100.0,
                                    200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0};

std::string number(double value) {
  if (std::isinf(value)) { return value > 0 ? "+Inf" : "-Inf"; }
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

void append_escaped(std::string& text, std::string_view value, bool quotes) {
  for (const char c : value) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && quotes) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

}  // namespace

std::span<const double> latency_seconds() { return latency_bounds; }
std::span<const double> batch_sizes() { return size_bounds; }

Histogram::Histogram(std::span<const double> bounds) : bounds_(bounds.begin(), bounds.end()) {
  if (bounds_.size() > most_buckets || !std::is_sorted(bounds_.begin(), bounds_.end())) {
    throw UsageError("a histogram's bounds must ascend, and be " + std::to_string(most_buckets) + " at most");
  }
}

void Histogram::observe(double value) {
  const auto at = static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  counts_[at].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) { counts.push_back(counts_[i].load(std::memory_order_relaxed)); }
  return counts;
}

void MetricsText::begin_family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(text_, help, false);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricsText::line(std::string_view suffix, const Labels& labels, std::string_view extra_label, double value) {
  text_.append(name_).append(suffix);
  if (!labels.empty() || !extra_label.empty()) {
    char before = '{';
    for (const auto& [label, of] : labels) {
      text_.append(1, before).append(label).append("=\"");
      append_escaped(text_, of, true);
      text_ += '"';
      before = ',';
    }
    if (!extra_label.empty()) { text_.append(1, before).append(extra_label); }
    text_ += '}';
  }
  text_.append(" ").append(number(value)).append("\n");
}

void MetricsText::value(const Labels& labels, double value) { line("", labels, "", value); }

void MetricsText::histogram(const Labels& labels, const Histogram& histogram) {
  const std::vector<std::uint64_t> counts = histogram.counts();
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
    below += counts[i];
    line("_bucket", labels, "le=\"" + number(histogram.bounds()[i]) + "\"", static_cast<double>(below));
  }
  below += counts.back();
  line("_bucket", labels, "le=\"+Inf\"", static_cast<double>(below));
  line("_sum", labels, "", histogram.sum());
  line("_count", labels, "", static_cast<double>(below));
}

Metrics::Family& Metrics::family(const std::string& name, std::string_view type, std::string_view help) {
  Family& family = families_[name];
  if (family.type.empty()) {
    family.type = type;
    family.help = help;
  } else if (family.type != type) {
    throw UsageError("metric " + name + " is a " + family.type + " already");
  }
  return family;
}

Counter& Metrics::counter(const std::string& name, std::string_view help, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Counter>& made = family(name, "counter", help).counters[labels];
  if (!made) { made = std::make_unique<Counter>(); }
  return *made;
}

Gauge& Metrics::gauge(const std::string& name, std::string_view help, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Gauge>& made = family(name, "gauge", help).gauges[labels];
  if (!made) { made = std::make_unique<Gauge>(); }
  return *made;
}

Histogram& Metrics::histogram(const std::string& name, std::string_view help, const Labels& labels,
                              std::span<const double> bounds) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Histogram>& made = family(name, "histogram", help).histograms[labels];
  if (!made) { made = std::make_unique<Histogram>(bounds); }
  return *made;
}

void Metrics::declare(const std::string& name, std::string_view type, std::string_view help) {
  const std::lock_guard lock(mutex_);
  (void)family(name, type, help);
}

void Metrics::visit(MetricsVisitor& visitor) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) {
    visitor.begin_family(name, family.type, family.help);
    for (const auto& [labels, each] : family.counters) { visitor.value(labels, static_cast<double>(each->value())); }
    for (const auto& [labels, each] : family.gauges) { visitor.value(labels, static_cast<double>(each->value())); }
    for (const auto& [labels, each] : family.histograms) { visitor.histogram(labels, *each); }
  }
}

}  // namespace hapax::telemetry
