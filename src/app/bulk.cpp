// Bulk enqueue: encodes the next batch while the batch before is written.
#include <hapax/app.hpp>

#include "app/app_state.hpp"
#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "model/placed_error.hpp"
#include "model/refusal.hpp"

#include <future>

namespace hapax {

namespace {

constexpr std::size_t batch_bytes = 32 << 20;

struct Batch {
  std::vector<model::NewExecution> requests;
  std::vector<std::optional<EnqueueOptions>> options;  // the items' own options, if they have any
  std::size_t bytes = 0;
};

void add_to(BulkReport& report, const std::vector<model::Admission>& admissions) {
  for (const model::Admission& admission : admissions) {
    const std::string_view error = model::refusal_name(admission.verdict);
    if (admission.created()) {
      ++report.created;
    } else if (error.empty()) {
      ++report.deduplicated;
    } else {
      ++report.refused;
    }
    report.admissions.push_back({.id = admission.id,
                                 .created = admission.created(),
                                 .status = admission.status,
                                 .run = admission.run,
                                 .deduplicated_from = admission.deduplicated_from,
                                 .error = std::string(error)});
  }
}

// Reads up to one batch; empty at the end of the source.
Batch next_batch(detail::AppState& app, const TaskSpec& task, const detail::RawSource& source,
                 const BulkOptions& options, std::size_t& index) {
  Batch batch;
  batch.requests.reserve(static_cast<std::size_t>(options.batch));
  while (batch.requests.size() < static_cast<std::size_t>(options.batch) && batch.bytes < batch_bytes) {
    try {
      auto item = source();
      if (!item) { break; }
      batch.bytes += item->input.size();
      batch.requests.push_back(
          app.request(task, std::move(item->input), item->options ? *item->options : options.each));
      batch.options.push_back(std::move(item->options));
    } catch (const InvalidArgument& error) { model::throw_placed("items[" + std::to_string(index) + "]", error); }
    ++index;
  }
  return batch;
}

// Admits a batch in one transaction. The requests are made again when the catalogue has changed since they were made.
std::vector<model::Admission> admit(detail::AppState& app, const TaskSpec& task, Batch& batch,
                                    const BulkOptions& options) {
  bool is_made = true;
  return engine::with_current_catalogue(app.catalogue(), [&] {
    for (std::size_t i = 0; !is_made && i < batch.requests.size(); ++i) {
      batch.requests[i] =
          app.request(task, std::move(batch.requests[i].input), batch.options[i] ? *batch.options[i] : options.each);
    }
    is_made = false;
    return app.engine().admit_bulk(batch.requests);
  });
}

}  // namespace

BulkReport App::enqueue_bulk(const TaskSpec& task, const detail::RawSource& source, const BulkOptions& options) {
  state_->forbid_in_transaction("a plain enqueue");
  if (options.batch < 1 || options.batch > limits::bulk_batch) {
    throw InvalidArgument("batch",
                          std::to_string(options.batch) + ", expected 1 to " + std::to_string(limits::bulk_batch));
  }
  static const bool plain = base::takes_plain_path("bulk-encode-ahead");
  BulkReport report;
  std::size_t index = 0;
  std::future<std::vector<model::Admission>> writing;
  Batch in_flight;
  const auto harvest = [&] {
    if (writing.valid()) {
      add_to(report, writing.get());
      if (options.progress) { options.progress({report.admissions.size(), report.created, report.deduplicated}); }
    }
  };
  while (true) {
    Batch batch;
    try {
      batch = next_batch(*state_, task, source, options, index);
    } catch (...) {
      harvest();
      throw;
    }
    harvest();
    if (batch.requests.empty()) { break; }
    in_flight = std::move(batch);
    writing = std::async(plain ? std::launch::deferred : std::launch::async,
                         [this, &task, &in_flight, &options] { return admit(*state_, task, in_flight, options); });
    if (plain) { harvest(); }
  }
  if (state_->runs_inline) { state_->run_inline(state_->queue(options.each.queue.value_or(task.options.queue))); }
  return report;
}

}  // namespace hapax
