#include <hapax/otlp.hpp>

#include <hapax/error.hpp>

#include "telemetry/metrics_observer.hpp"
#include "telemetry/observed_queues.hpp"
#include "telemetry/otlp_sender.hpp"
#include "telemetry/tracer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

namespace hapax {

namespace {

using OtlpClock = std::chrono::steady_clock;
using telemetry::OtlpSender;

constexpr std::size_t items_per_request = 500;
constexpr std::size_t queue_most = 1'000'000;
constexpr Duration pause_least = std::chrono::seconds(1);
constexpr Duration pause_most = std::chrono::seconds(30);
constexpr Duration period_most = std::chrono::hours(24);

std::int64_t unix_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void check_period(Duration period, const char* name) {
  if (period < std::chrono::milliseconds(1) || period > period_most) {
    throw InvalidArgument(name, format_duration(period) + "; expected 1ms to 24h");
  }
}

const OtlpOptions& checked(const OtlpOptions& options) {
  check_period(options.interval, "interval");
  check_period(options.metrics_interval, "metrics_interval");
  check_period(options.timeout, "timeout");
  check_period(options.close_timeout, "close_timeout");
  if (options.queue < 1 || options.queue > queue_most) {
    throw InvalidArgument("queue", std::to_string(options.queue) + "; expected 1 to " + std::to_string(queue_most));
  }
  return options;
}

std::string resource_json(const OtlpOptions& options) {
  telemetry::Attributes attributes = {{"service.name", options.service_name}};
  attributes.insert(attributes.end(), options.resource.begin(), options.resource.end());
  return telemetry::attributes_json(attributes);
}

}  // namespace

// The spans, metrics and lines that wait to be sent, and the thread that sends them. The thread shares the state: a request that hangs in the look-up
// of a name does not keep close() longer than it may take.
class OtlpExporter::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const OtlpOptions& options)
      : options_(checked(options)),
        resource_(resource_json(options)),
        sender_(options.url, options.headers, options.ca_file) {}

  void start() {
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
  }

  [[nodiscard]] std::vector<std::shared_ptr<Observer>> observers() {
    telemetry::Tracer::Outputs outputs{.span = {}, .log = {}, .now_ns = unix_nanoseconds};
    if (options_.traces) {
      outputs.span = [this](std::string span) { add(spans_, std::move(span)); };
    }
    if (options_.logs) {
      outputs.log = [this](std::string line) { add(lines_, std::move(line)); };
    }
    std::vector<std::shared_ptr<Observer>> all{std::make_shared<telemetry::Tracer>(std::move(outputs))};
    if (options_.metrics) {
      all.push_back(std::make_shared<telemetry::MetricsObserver>(metrics_));
      all.push_back(queues_);
    }
    return all;
  }

  void close() {
    const std::lock_guard one_at_a_time(close_mutex_);
    if (!thread_.joinable()) { return; }
    std::unique_lock lock(mutex_);
    stopping_ = true;
    close_by_ = OtlpClock::now() + options_.close_timeout;
    wake_.notify_all();
    const bool ended = done_.wait_until(lock, close_by_, [this] { return done_sending_; });
    closed_ = true;
    counts_.dropped += spans_.size() + lines_.size();
    spans_.clear();
    lines_.clear();
    lock.unlock();
    if (ended) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  [[nodiscard]] OtlpCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  using Items = std::deque<std::string>;

  void add(Items& items, std::string item) {
    bool half_full = false;
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items.size() >= options_.queue) {
        ++counts_.dropped;
        return;
      }
      items.push_back(std::move(item));
      half_full = items.size() == (options_.queue + 1) / 2;
    }
    if (half_full) { wake_.notify_all(); }
  }

  void run() {
    OtlpClock::time_point metrics_at = OtlpClock::now() + options_.metrics_interval;
    std::unique_lock lock(mutex_);
    while (true) {
      const OtlpClock::time_point due = std::max(OtlpClock::now() + options_.interval, paused_until_);
      wake_.wait_until(lock, due, [this] {
        const std::size_t most = std::max(spans_.size(), lines_.size());
        return stopping_ || (most * 2 >= options_.queue && OtlpClock::now() >= paused_until_);
      });
      const bool last = stopping_;
      lock.unlock();
      send(spans_, "/v1/traces", telemetry::traces_request);
      send(lines_, "/v1/logs", telemetry::logs_request);
      if (options_.metrics && (last || OtlpClock::now() >= metrics_at)) {
        send_metrics();
        metrics_at = OtlpClock::now() + options_.metrics_interval;
      }
      lock.lock();
      if (last) { break; }
    }
    done_sending_ = true;
    done_.notify_all();
  }

  // How long the next request may take; nothing: it is too late.
  [[nodiscard]] std::optional<Duration> allowed() const {
    const std::lock_guard lock(mutex_);
    const OtlpClock::time_point now = OtlpClock::now();
    if (!stopping_) { return now < paused_until_ ? std::nullopt : std::optional(options_.timeout); }
    const auto left = std::chrono::duration_cast<Duration>(close_by_ - now);
    return left > Duration::zero() ? std::optional(std::min(left, options_.timeout)) : std::nullopt;
  }

  using Request = std::string (*)(std::string_view, std::span<const std::string>);
  // Sends what waits now. Items that come meanwhile wait for the next round, or a busy program's spans would keep its
  // log lines and metrics back.
  void send(Items& items, std::string_view path, Request request) {
    std::size_t left = 0;
    {
      const std::lock_guard lock(mutex_);
      left = items.size();
    }
    while (left > 0) {
      const std::optional<Duration> timeout = allowed();
      if (!timeout) { return; }
      std::vector<std::string> batch;
      {
        const std::lock_guard lock(mutex_);
        const auto count = static_cast<std::ptrdiff_t>(std::min({items.size(), left, items_per_request}));
        batch.assign(std::make_move_iterator(items.begin()), std::make_move_iterator(items.begin() + count));
        items.erase(items.begin(), items.begin() + count);
      }
      if (batch.empty()) { return; }  // close() did not wait any longer
      left -= batch.size();
      std::string error;
      const OtlpSender::Answer answer = sender_.post(path, request(resource_, batch), *timeout, error);
      const std::lock_guard lock(mutex_);
      answered(answer, error);
      if (answer == OtlpSender::Answer::taken) {
        counts_.sent += batch.size();
      } else if (answer == OtlpSender::Answer::later && !stopping_) {
        put_back(items, batch);
        return;
      } else {
        counts_.dropped += batch.size();
        if (answer == OtlpSender::Answer::later) { return; }
      }
    }
  }

  void send_metrics() {
    const std::optional<Duration> timeout = allowed();
    if (!timeout) { return; }
    telemetry::MetricsJson json(began_ns_, unix_nanoseconds());
    metrics_.visit(json);
    queues_->write(json);
    std::string error;
    const OtlpSender::Answer answer = sender_.post("/v1/metrics", json.request(resource_), *timeout, error);
    const std::lock_guard lock(mutex_);
    answered(answer, error);
  }

  // Holding mutex_, as put_back().
  void answered(OtlpSender::Answer answer, const std::string& error) {
    if (answer == OtlpSender::Answer::taken) {
      pause_ = pause_least;
      return;
    }
    ++counts_.failures;
    counts_.last_error = error;
    if (answer == OtlpSender::Answer::later) {
      paused_until_ = OtlpClock::now() + pause_;
      pause_ = std::min(pause_ * 2, pause_most);
    }
  }

  // The newest are dropped when others have come meanwhile.
  void put_back(Items& items, std::vector<std::string>& batch) {
    items.insert(items.begin(), std::make_move_iterator(batch.begin()), std::make_move_iterator(batch.end()));
    while (items.size() > options_.queue) {
      items.pop_back();
      ++counts_.dropped;
    }
  }

  const OtlpOptions options_;
  const std::string resource_;
  const OtlpSender sender_;
  const std::int64_t began_ns_ = unix_nanoseconds();
  telemetry::Metrics metrics_;
  const std::shared_ptr<telemetry::ObservedQueues> queues_ = std::make_shared<telemetry::ObservedQueues>();
  std::mutex close_mutex_;
  std::thread thread_;  // guarded by close_mutex_
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  // Guarded by mutex_, as what follows.
  Items spans_;
  Items lines_;
  OtlpCounts counts_;
  bool stopping_ = false;
  bool closed_ = false;
  bool done_sending_ = false;
  OtlpClock::time_point close_by_{};
  OtlpClock::time_point paused_until_{};
  Duration pause_ = pause_least;
};

OtlpExporter::OtlpExporter(const OtlpOptions& options) : OtlpExporter(std::make_shared<State>(options)) {
  state_->start();
}

OtlpExporter::OtlpExporter(std::shared_ptr<State> state)
    : ObserverRelay(state->observers()), state_(std::move(state)) {}

OtlpExporter::~OtlpExporter() { close(); }

void OtlpExporter::close() { state_->close(); }
OtlpCounts OtlpExporter::counts() const { return state_->counts(); }

}  // namespace hapax
