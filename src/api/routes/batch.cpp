// POST /v1/executions/batch: many enqueues as NDJSON, one answer per line, in order.
//
// Lines are admitted in batches, each one transaction. Memory is bounded by one batch and by the answers held back: a
// client may send all its lines before it reads, so no answer is written while lines still arrive, until the answers
// exceed 8 MiB.
#include "api/execution_json.hpp"
#include "api/routes/admission_answer.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/feed.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "http/limits.hpp"
#include "model/refusal.hpp"

namespace hapax::api {

namespace {

constexpr std::size_t batch_bytes = 8 << 20;
constexpr std::size_t answers_held_back = 8 << 20;

// A line that refuses a whole atomic batch.
class RefusedLine : public Error {
 public:
  RefusedLine(http::Problem refusal, std::int64_t number)
      : Error(refusal.name, refusal.message), problem_(std::move(refusal)) {
    problem_.facts += base::JsonObject().number("line", number).tail();
  }
  [[nodiscard]] const http::Problem& problem() const { return problem_; }

 private:
  http::Problem problem_;
};

class BatchEnqueue {
 public:
  BatchEnqueue(Api& api, http::Call& call)
      : api_(api),
        call_(call),
        tenant_(api.tenant(call.principal().namespace_name)),
        is_atomic_(query_flag(call.request(), "atomic", false)) {
    check_query(call.request(), {"atomic"});
    defaults_.options.on_conflict = OnConflict::reject;
    defaults_.on_conflict_is_default = true;
    defaults_.actor = actor_of(call.principal());
  }

  http::Response run() {
    std::string line;
    while (true) {
      const http::LineRead read = next_line(line);
      if (read == http::LineRead::none_left) { break; }
      ++number_;
      if (read == http::LineRead::too_long) {
        refuse_too_long();
        continue;
      }
      if (line.find_first_not_of(" \t\r") == std::string::npos) { continue; }
      if (is_atomic_) {
        take_all_or_none(line);
        continue;
      }
      take(line);
      if (batch_.size() >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= batch_bytes) { flush(); }
      if (is_gone_) { return {}; }
    }
    flush();
    send();
    return {};
  }

 private:
  // One line's answer: the admission of an item of the batch, or a finished problem.
  struct Place {
    std::int64_t line = 0;
    std::string problem;  // empty: the next item's admission
    std::string text;     // for an item: its line
  };

  // Reads the next line. A body that breaks off (a malformed chunk, an early end, too slow, too long) refuses the lines
  // that are not admitted yet; the answers of admitted lines are still sent.
  [[nodiscard]] http::LineRead next_line(std::string& line) {
    try {
      return call_.next_line(line);
    } catch (const http::ClientGone&) { throw; } catch (const http::HttpError& error) {
      if (is_atomic_ || !has_answers()) { throw; }
      const http::Problem problem{.name = std::string(error.name()),
                                  .message = std::string(error.what()) + "; this line was not admitted",
                                  .http_status = error.status(),
                                  .facts = {}};
      places_.push_back({.line = number_ + 1, .problem = {}, .text = {}});
      for (const Place& place : places_) {
        answers_ += place.problem.empty() ? line_answer(problem, place.line) : place.problem;
        answers_ += '\n';
      }
      places_.clear();
      batch_.clear();
      return http::LineRead::none_left;
    }
  }

  // All lines are one transaction: the first invalid one refuses them all.
  void take_all_or_none(const std::string& line) {
    if (batch_.size() >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= batch_bytes) {
      throw InvalidArgument("body", "is more than one transaction takes; expected at most " +
                                        std::to_string(limits::bulk_batch) + " lines and " +
                                        std::to_string(batch_bytes >> 20) + " MiB with atomic=true");
    }
    places_.push_back({.line = number_, .problem = {}, .text = line});
    make_or_refuse_all(places_.back());
    bytes_ += line.size();
  }

  void take(const std::string& line) {
    Place place{.line = number_, .problem = {}, .text = line};
    make(place);
    bytes_ += line.size();
    places_.push_back(std::move(place));
    // Invalid lines in a row take room too.
    if (places_.size() >= static_cast<std::size_t>(limits::bulk_batch)) { flush(); }
  }

  // Adds an item to the batch, or the problem that answers its line.
  void make(Place& place) {
    try {
      batch_.push_back(request_of(place.text));
      return;
    } catch (const InvalidArgument& error) {
      place.problem = line_answer(named_for_api(http::problem_of(error)), place.line);
    } catch (const http::Forbidden& error) {
      place.problem = line_answer(
          {.name = std::string(error.name()), .message = error.what(), .http_status = error.status(), .facts = {}},
          place.line);
    }
    place.text.clear();
  }

  // Makes the items again by the current catalogue.
  void remake() {
    batch_.clear();
    for (Place& place : places_) {
      if (!place.problem.empty()) { continue; }
      is_atomic_ ? make_or_refuse_all(place) : make(place);
    }
  }

  void make_or_refuse_all(const Place& place) {
    try {
      batch_.push_back(request_of(place.text));
    } catch (const InvalidArgument& error) { throw RefusedLine(named_for_api(http::problem_of(error)), place.line); }
  }

  // Earlier lines are admitted already, so this line is refused in its place, like any other invalid line.
  void refuse_too_long() {
    const http::Problem problem{.name = "PayloadTooLarge",
                                .message = "line: over " + std::to_string(limits::http_body()) + " bytes",
                                .http_status = 413,
                                .facts = base::JsonObject().text("field", "line").tail()};
    if (is_atomic_) { throw RefusedLine(problem, number_); }
    places_.push_back({.line = number_, .problem = line_answer(problem, number_), .text = {}});
    if (places_.size() >= static_cast<std::size_t>(limits::bulk_batch)) { flush(); }
  }

  [[nodiscard]] model::NewExecution request_of(const std::string& line) {
    api::RequestFields fields = api::parse_request(line, defaults_, "line");
    if (fields.task.empty()) { throw InvalidArgument("task", "is missing; expected a name such as \"send_mail\""); }
    if (fields.options.on_conflict == OnConflict::wait) {
      throw InvalidArgument("on_conflict",
                            "wait is not for batches; expected return_existing, reject or "
                            "terminate_existing");
    }
    if (fields.options.traceparent.empty()) {
      fields.options.traceparent = call_.traceparent();
      fields.options.tracestate = call_.tracestate();
    }
    fit_to_principal(fields, call_.principal());
    return api::make_request(fields, tenant_->namespace_name(), tenant_->entry(call_, fields.task));
  }

  static std::string line_answer(const http::Problem& problem, std::int64_t line) {
    std::string json = http::problem_json(problem);
    return "{\"line\":" + std::to_string(line) + "," + json.substr(1);
  }

  void flush() {
    if (places_.empty()) { return; }
    std::vector<model::Admission> admissions;
    std::optional<http::Problem> trouble;
    if (!batch_.empty()) {
      check_let_in();
      try {
        bool is_made = true;
        admissions = engine::with_current_catalogue(tenant_->catalogue(), [&] {
          if (!is_made) { remake(); }
          is_made = false;
          if (batch_.empty()) { return std::vector<model::Admission>(); }
          return call_.blocking([this] { return api_.engine().admit_bulk(batch_); });
        });
      } catch (const StoreUnavailable& error) {
        if (!has_answers()) { throw; }
        trouble = http::problem_of(error);
        if (!call_.principal().admin) { trouble->message = "the store cannot be used now; try again"; }
      }
    }
    std::size_t item = 0;
    for (const Place& place : places_) {
      if (!place.problem.empty()) {
        answers_ += place.problem;
      } else if (trouble) {
        answers_ += line_answer(*trouble, place.line);
      } else {
        add_answer(admissions[item], model::asking_of(batch_[item]), place.line);
        ++item;
      }
      answers_ += '\n';
    }
    places_.clear();
    batch_.clear();
    bytes_ = 0;
    if (trouble) {
      send();
      throw StoreUnavailable(trouble->message);  // cuts the stream off, because the lines after this one were not read
    }
    if (answers_.size() > answers_held_back) { send(); }
  }

  void add_answer(const model::Admission& admission, const model::Asking& asked, std::int64_t line) {
    if (const auto refusal = refusal_of(admission, asked, call_.principal())) {
      answers_ += line_answer(*refusal, line);
      return;
    }
    answers_.append("{\"line\":").append(std::to_string(line)).append(",");
    if (!admission.created() && !call_.principal().read) {
      answers_ += R"("id":null,"created":false,"status":"pending","run":null})";
      return;
    }
    if (admission.created()) { api_.feeds().changed(tenant_->namespace_name(), admission.id); }
    answers_.append(api::admission_json(admission, std::nullopt), 1);
  }

  // Sending a body may take long, so access is checked again. Lines admitted before still get their answers.
  void check_let_in() {
    try {
      call_.recheck_access();
    } catch (const http::HttpError&) {
      if (has_answers()) { send(); }
      throw;
    }
  }

  [[nodiscard]] bool has_answers() const { return has_begun_ || !answers_.empty(); }

  void send() {
    if (!has_begun_) {
      has_begun_ = true;
      call_.begin_stream({.status = 200, .content_type = "application/x-ndjson", .body = {}, .headers = {}});
    }
    if (!answers_.empty() && !call_.write(answers_)) { is_gone_ = true; }
    answers_.clear();
  }

  Api& api_;
  http::Call& call_;
  const std::shared_ptr<Tenant> tenant_;
  const bool is_atomic_;
  api::RequestFields defaults_;  // for each line
  std::int64_t number_ = 0;
  std::vector<model::NewExecution> batch_;
  std::vector<Place> places_;
  std::size_t bytes_ = 0;
  std::string answers_;
  bool has_begun_ = false;
  bool is_gone_ = false;
};

}  // namespace

void add_batch_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  router.add({.method = "POST",
              .pattern = "/v1/executions/batch",
              .scope = http::Scope::enqueue,
              .body = http::BodyRule::ndjson,
              .handler = [api](http::Call& call) {
                try {
                  return BatchEnqueue(*api, call).run();
                } catch (const RefusedLine& refused) { return problem_answer_of(refused.problem()); }
              }});
}

}  // namespace hapax::api
