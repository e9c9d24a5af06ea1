// Metrics: counters, gauges and histograms of this process, written in Prometheus' text format.
//
// A metric is made at its first use and lives as long as the registry, so frequent users keep the reference. Counting
// is a relaxed atomic; any thread may count. Labels are few and their values bounded (a route's pattern, never a path;
// no identities, keys or payloads).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::telemetry {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t change) { value_.fetch_add(change, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Buckets are ascending upper bounds in the unit of the observed value; at most 24.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds);
  void observe(double value);
  void observe(std::chrono::steady_clock::duration duration) {
    observe(std::chrono::duration<double>(duration).count());
  }

  [[nodiscard]] std::span<const double> bounds() const { return bounds_; }
  // Of the values up to each bound and above the bound before it; the last: above all bounds.
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  [[nodiscard]] double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t most_buckets = 24;
  std::vector<double> bounds_;
  std::array<std::atomic<std::uint64_t>, most_buckets + 1> counts_{};  // the last: above all bounds
  std::atomic<double> sum_{0};
};

// latency_seconds(): 0.5 ms to 60 s. batch_sizes(): 1 to 10,000.
[[nodiscard]] std::span<const double> latency_seconds();
[[nodiscard]] std::span<const double> batch_sizes();

// Sees all metrics of a registry.
class MetricsVisitor {
 public:
  virtual ~MetricsVisitor() = default;
  virtual void begin_family(std::string_view name, std::string_view type, std::string_view help) = 0;
  virtual void value(const Labels& labels, double value) = 0;
  virtual void histogram(const Labels& labels, const Histogram& histogram) = 0;
};

// Writes the text format. Families are written one after another, each followed by all of its samples.
class MetricsText final : public MetricsVisitor {
 public:
  void begin_family(std::string_view name, std::string_view type, std::string_view help) override;
  void value(const Labels& labels, double value) override;
  void histogram(const Labels& labels, const Histogram& histogram) override;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view extra_label, double value);

  std::string name_;
  std::string text_;
};

// The registry.
class Metrics {
 public:
  // The help of the first call counts. Throws UsageError if the name is already in use for another kind.
  [[nodiscard]] Counter& counter(const std::string& name, std::string_view help, const Labels& labels = {});
  [[nodiscard]] Gauge& gauge(const std::string& name, std::string_view help, const Labels& labels = {});
  [[nodiscard]] Histogram& histogram(const std::string& name, std::string_view help, const Labels& labels = {},
                                     std::span<const double> bounds = latency_seconds());
  // Makes the name known before its first sample; the type is counter, gauge or histogram.
  void declare(const std::string& name, std::string_view type, std::string_view help);

  void visit(MetricsVisitor& visitor) const;

 private:
  struct Family {
    std::string type;
    std::string help;
    std::map<Labels, std::unique_ptr<Counter>> counters;
    std::map<Labels, std::unique_ptr<Gauge>> gauges;
    std::map<Labels, std::unique_ptr<Histogram>> histograms;
  };
  Family& family(const std::string& name, std::string_view type, std::string_view help);

  mutable std::mutex mutex_;
  std::map<std::string, Family> families_;
};

}  // namespace hapax::telemetry
