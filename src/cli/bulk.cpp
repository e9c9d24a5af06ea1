#include "cli/bulk.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/line_reader.hpp"
#include "cli/problem.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "engine/door.hpp"
#include "engine/engine.hpp"
#include "wire/json_out.hpp"

#include <vector>

namespace hapax::cli {
namespace {

// A batch is bounded in bytes too, as 5,000 inputs of a mebibyte would not fit in memory.
constexpr std::size_t batch_bytes = 16 << 20;
constexpr std::size_t refusals_told = 20;

struct Refusal {
  std::int64_t line = 0;
  std::string name;
  std::string message;
};

class BulkEnqueue {
 public:
  BulkEnqueue(Shell& shell, const BulkOptions& options)
      : shell_(shell),
        options_(options),
        lines_(options.path),
        engine_(shell.shared_store()),
        catalogue_(shell.store(), shell.ns()),
        progress_(shell) {}

  int run() {
    std::string line;
    while (lines_.next(line)) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) { continue; }
      take(line);
      if (batch_.size() >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= batch_bytes) { flush(); }
    }
    flush();
    progress_.clear();
    summary();
    return rejected_ > 0 ? exit_conflict : exit_ok;
  }

 private:
  void take(const std::string& line) {
    try {
      RequestFields fields = parse_request(line, options_.defaults, "line");
      fields.actor = actor_;
      if (fields.task.empty()) { throw InvalidArgument("task", "is missing"); }
      batch_.push_back(make_request(fields, shell_.ns(), catalogue_));
    } catch (const Error& error) {
      throw BadData(error.name(), "line " + std::to_string(lines_.number()) + ": " + error.what() + "; " + so_far());
    }
    numbers_.push_back(lines_.number());
    bytes_ += line.size();
  }

  void flush() {
    if (batch_.empty()) { return; }
    std::vector<model::Admission> admissions;
    try {
      admissions = engine_.admit_bulk(batch_);
    } catch (const StoreUnavailable& error) {
      progress_.remark("stopped before line " + std::to_string(numbers_.front()) + "; " + so_far());
      throw;
    }
    for (std::size_t i = 0; i < admissions.size(); ++i) { count(admissions[i], i); }
    written_ += static_cast<std::int64_t>(batch_.size());
    batch_.clear();
    numbers_.clear();
    bytes_ = 0;
    if (progress_.due()) {
      const std::string done = grouped(written_) + " lines, " + rate_text(written_, Steady::now() - begun_);
      progress_.show(lines_.size() > 0 ? progress_bar(lines_.fraction()) + "  " + done : done);
    }
  }

  void count(const model::Admission& admission, std::size_t index) {
    if (admission.created()) {
      ++admitted_;
    } else if (admission.verdict == model::AdmissionVerdict::deduplicated) {
      ++deduplicated_;
    } else {
      refused(admission, index);
      return;
    }
    if (options_.each) {
      JsonObject object;
      object.number("line", numbers_[index])
          .text("id", admission.id.to_string())
          .boolean("created", admission.created());
      object.text("status", to_string(admission.status)).number("run", std::int64_t{admission.run});
      print(object.str());
    }
  }

  void refused(const model::Admission& admission, std::size_t index) {
    ++rejected_;
    try {
      engine::throw_if_refused(admission, engine::asking_of(batch_[index]));
    } catch (const Error& error) {
      if (options_.each) {
        JsonObject object;
        object.number("line", numbers_[index]).text("error", error.name()).text("message", error.what());
        print(object.str());
      }
      if (refusals_.size() < refusals_told) { refusals_.push_back({numbers_[index], error.name(), error.what()}); }
    }
  }

  [[nodiscard]] std::string so_far() const {
    return std::to_string(admitted_ + deduplicated_) + " of the lines before were admitted, nothing of this batch";
  }

  void summary() const {
    if (shell_.json()) {
      JsonObject object;
      object.number("admitted", admitted_).number("deduplicated", deduplicated_).number("rejected", rejected_);
      object.number("lines", written_);
      std::vector<std::string> told;
      for (const Refusal& refusal : refusals_) {
        JsonObject item;
        item.number("line", refusal.line).text("error", refusal.name).text("message", refusal.message);
        told.push_back(item.str());
      }
      object.raw("refusals", json_array(told));
      print(object.str());
      return;
    }
    for (const Refusal& refusal : refusals_) {
      const std::string text = refusal.name + ": line " + std::to_string(refusal.line) + ": " + refusal.message;
      std::fprintf(stderr, "%s\n", base::printable(text).c_str());
    }
    std::string text = grouped(admitted_) + " admitted";
    text += deduplicated_ > 0 ? ", " + grouped(deduplicated_) + " deduplicated" : "";
    text += rejected_ > 0 ? ", " + grouped(rejected_) + " rejected" : "";
    print(text + " of " + grouped(written_) + " lines in " + seconds());
  }

  [[nodiscard]] std::string seconds() const {
    const Steady::duration took = Steady::now() - begun_;
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) + " ms (" +
           rate_text(written_, took) + ")";
  }

  using Steady = std::chrono::steady_clock;

  Shell& shell_;
  const BulkOptions& options_;
  LineReader lines_;
  engine::Engine engine_;
  engine::CatalogueCache catalogue_;
  ProgressLine progress_;
  const std::string actor_ = command_line_actor();
  const Steady::time_point begun_ = Steady::now();
  std::vector<model::NewExecution> batch_;
  std::vector<std::int64_t> numbers_;  // of the batch's lines
  std::size_t bytes_ = 0;
  std::int64_t admitted_ = 0;
  std::int64_t deduplicated_ = 0;
  std::int64_t rejected_ = 0;
  std::int64_t written_ = 0;
  std::vector<Refusal> refusals_;
};

}  // namespace

int enqueue_bulk(Shell& shell, const BulkOptions& options) { return BulkEnqueue(shell, options).run(); }

}  // namespace hapax::cli
