#include "cli/bulk.hpp"

#include "api/execution_read.hpp"
#include "base/json_out.hpp"
#include "base/text.hpp"
#include "cli/backend.hpp"
#include "cli/exit_code.hpp"
#include "cli/line_reader.hpp"
#include "cli/problem.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"

#include <algorithm>
#include <vector>

namespace hapax::cli {
namespace {

constexpr std::size_t refusals_printed = 20;

struct Refusal {
  std::int64_t line = 0;
  std::string name;
  std::string message;
};

class BulkEnqueue {
 public:
  BulkEnqueue(Shell& shell, const BulkOptions& options)
      : shell_(shell), options_(options), lines_(options.path), bulk_(shell.backend().bulk()), progress_(shell) {}

  int run() {
    std::string line;
    while (lines_.next(line)) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) { continue; }
      take(line);
      if (bulk_->is_full()) { flush(); }
    }
    flush();
    progress_.clear();
    summary();
    return rejected_ > 0 ? exit_conflict : exit_ok;
  }

 private:
  void take(const std::string& line) {
    try {
      if (!defaults_) { defaults_ = read_flags(options_.defaults); }
      RequestFields fields = parse_request(line, *defaults_, "line");
      if (fields.task.empty()) { throw InvalidArgument("task", "is missing"); }
      bulk_->add(std::move(fields));
    } catch (const Error& error) { refuse_line(lines_.number(), error.name(), error.what()); }
    numbers_.push_back(lines_.number());
  }

  [[noreturn]] void refuse_line(std::int64_t line, const std::string& name, const std::string& message) const {
    throw BadData(name, "line " + std::to_string(line) + ": " + message + "; " + so_far());
  }

  void flush() {
    if (numbers_.empty()) { return; }
    std::vector<BulkAnswer> answers;
    const std::string from = std::to_string(numbers_.front());
    try {
      answers = bulk_->flush();
    } catch (const BadLine& bad) {
      refuse_line(numbers_.at(std::min(bad.index, numbers_.size() - 1)), bad.name(), bad.what());
    } catch (const CommitUnknown&) {
      progress_.trouble("lines " + from + " to " + std::to_string(numbers_.back()) +
                        " may have been admitted or not; " + std::to_string(admitted_ + deduplicated_) +
                        " of the lines before were");
      throw;
    } catch (const StoreUnavailable&) {
      progress_.trouble("stopped before line " + from + "; " + so_far());
      throw;
    }
    for (std::size_t i = 0; i < answers.size(); ++i) { count(answers[i], numbers_[i]); }
    written_ += std::ssize(numbers_);
    numbers_.clear();
    if (progress_.due()) {
      const std::string done = grouped(written_) + " lines, " + rate_text(written_, Steady::now() - begun_);
      progress_.show(lines_.size() > 0 ? progress_bar(lines_.fraction()) + "  " + done : done);
    }
  }

  void count(const BulkAnswer& answer, std::int64_t line) {
    if (answer.admission.empty()) {
      refused(answer, line);
      return;
    }
    const model::Admission admission = read_admission(answer.admission);
    ++(admission.created() ? admitted_ : deduplicated_);
    if (options_.each) {
      JsonObject object;
      object.number("line", line);
      object.text_or_null("id", admission.id.is_nil() ? "" : admission.id.to_string());
      object.boolean("created", admission.created()).text("status", to_string(admission.status));
      object.number("run", std::int64_t{admission.run});
      if (admission.deduplicated_from) { object.time("deduplicated_from", admission.deduplicated_from); }
      print(object.str());
    }
  }

  void refused(const BulkAnswer& answer, std::int64_t line) {
    ++rejected_;
    if (options_.each) {
      JsonObject object;
      object.number("line", line).text("error", answer.error).text("message", answer.message);
      print(object.str());
    }
    if (refusals_.size() < refusals_printed) { refusals_.push_back({line, answer.error, answer.message}); }
  }

  [[nodiscard]] std::string so_far() const {
    return std::to_string(admitted_ + deduplicated_) + " of the lines before were admitted, nothing of this batch";
  }

  void summary() const {
    if (shell_.json()) {
      JsonObject object;
      object.number("admitted", admitted_).number("deduplicated", deduplicated_).number("rejected", rejected_);
      object.number("lines", written_);
      std::vector<std::string> refusals_json;
      for (const Refusal& refusal : refusals_) {
        JsonObject item;
        item.number("line", refusal.line).text("error", refusal.name).text("message", refusal.message);
        refusals_json.push_back(item.str());
      }
      object.raw("refusals", json_array(refusals_json));
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
  std::optional<RequestFields> defaults_;  // read with the first line
  LineReader lines_;
  const std::unique_ptr<Bulk> bulk_;
  ProgressLine progress_;
  const Steady::time_point begun_ = Steady::now();
  std::vector<std::int64_t> numbers_;  // line numbers of the batch
  std::int64_t admitted_ = 0;
  std::int64_t deduplicated_ = 0;
  std::int64_t rejected_ = 0;
  std::int64_t written_ = 0;
  std::vector<Refusal> refusals_;
};

}  // namespace

int enqueue_bulk(Shell& shell, const BulkOptions& options) { return BulkEnqueue(shell, options).run(); }

}  // namespace hapax::cli
