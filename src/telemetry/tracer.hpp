// Tracer: makes OTLP spans and log lines of what an app does.
#pragma once

#include <hapax/observer.hpp>

#include "base/random.hpp"
#include "telemetry/otlp_json.hpp"

#include <functional>
#include <string>

namespace hapax::telemetry {

// Any thread. The functions get JSON of one span or log line each; an empty function leaves that signal out.
class Tracer final : public Observer {
 public:
  struct Outputs {
    std::function<void(std::string span)> span;
    std::function<void(std::string line)> log;
    std::function<std::int64_t()> now_ns;  // since 1970
  };
  explicit Tracer(Outputs outputs) : outputs_(std::move(outputs)) {}

  void on_admissions(const AdmissionBatch& batch) override;
  void on_attempt_ended(const AttemptEnd& end) override;
  void on_step_ended(const StepEnd& end) override;
  void on_log(LogLevel level, std::string_view message, const LogFields& fields) override;
  void trace_request(const Uuid& id, TraceContext& trace) override;
  void trace_attempt(const Uuid& id, std::int64_t fence, TraceContext& trace) override;

 private:
  const Outputs outputs_;
  base::SystemRandom random_;
};

}  // namespace hapax::telemetry
