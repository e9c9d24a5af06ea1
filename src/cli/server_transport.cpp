// The transport over HTTP to a server.
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/api_path.hpp"
#include "cli/problem.hpp"
#include "cli/transport.hpp"
#include "http/client.hpp"

#include <charconv>
#include <chrono>

namespace hapax::cli {
namespace {

// An answer may hold this many of the largest executions (http/answer_reader.hpp): each has an input and a result.
constexpr int server_page_with_payloads = 15;

// The most bytes that a server admits in one transaction.
constexpr std::size_t server_bulk_batch_bytes = 8 << 20;

// On the command line the field idempotency_key of the API is called task_id.
std::string in_our_words(const std::string& message) {
  constexpr std::string_view api_name = "idempotency_key: ";
  return message.starts_with(api_name) ? "task_id: " + message.substr(api_name.size()) : message;
}

// Each batch is one NDJSON request, admitted as a whole or not at all.
class ServerBulk : public Bulk {
 public:
  explicit ServerBulk(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  void add(RequestFields fields) override {
    const std::string line = request_json(fields);
    // A batch whose answer was lost may be sent again if every line has a key: the duplicates return the first
    // executions.
    repeatable_ = repeatable_ && fields.options.task_id && fields.options.on_conflict == OnConflict::return_existing;
    lines_ += line + "\n";
    bytes_ += line.size();
    ++count_;
  }

  [[nodiscard]] bool is_full() const override {
    return count_ >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= server_bulk_batch_bytes;
  }

  [[nodiscard]] std::vector<BulkAnswer> flush() override {
    std::string told;
    try {
      told = api_->ask({.method = "POST",
                        .target = path({"executions", "batch"}) + QueryText().add("atomic", "true").text(),
                        .body = std::move(lines_),
                        .content_type = "application/x-ndjson",
                        .repeatable = repeatable_});
    } catch (const http::RemoteProblem& problem) {
      const std::int64_t line = JsonView(problem.document).integer("line");
      if (line < 1) { throw; }
      throw BadLine(static_cast<std::size_t>(line - 1), problem.name(), in_our_words(problem.what()));
    }
    std::vector<BulkAnswer> answers = read(told);
    if (answers.size() != count_) {
      throw BadAnswer("the server answered " + std::to_string(answers.size()) + " of " + std::to_string(count_) +
                      " lines");
    }
    lines_.clear();
    bytes_ = 0;
    count_ = 0;
    repeatable_ = true;
    return answers;
  }

 private:
  [[nodiscard]] std::vector<BulkAnswer> read(std::string_view told) const {
    std::vector<BulkAnswer> answers;
    while (!told.empty()) {
      const std::string_view line = told.substr(0, told.find('\n'));
      told.remove_prefix(std::min(told.size(), line.size() + 1));
      if (line.empty()) { continue; }
      check_answer(line, api_->url());
      const JsonView view(line);
      BulkAnswer answer;
      // In a refusal `error` is the error's name; in the admission to a failed holder it is the holder's error.
      if (view.has("detail") && view.has("error")) {
        answer.error = view.text("error");
        answer.message = view.text("detail");
      } else {
        answer.admission = line;
      }
      answers.push_back(std::move(answer));
    }
    return answers;
  }

  const std::shared_ptr<http::ApiClient> api_;
  std::string lines_;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  bool repeatable_ = true;
};

// Removes the place from a message such as "events[3].type: …" and returns it: the index of the event in its batch.
std::optional<std::size_t> place_in(std::string& message) {
  constexpr std::string_view mark = "events[";
  if (!message.starts_with(mark)) { return std::nullopt; }
  std::size_t index = 0;
  const char* const begin = message.data() + mark.size();
  const auto [end, error] = std::from_chars(begin, message.data() + message.size(), index);
  if (error != std::errc{} || *end != ']') { return std::nullopt; }
  const std::size_t rest = static_cast<std::size_t>(end - message.data()) + 1;
  message.erase(0, message[rest] == '.' ? rest + 1 : rest);
  return index;
}

class ServerEvents : public EventDoor {
 public:
  explicit ServerEvents(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  // The server has its own rule for events without an ID, and gets the envelopes unchanged.
  [[nodiscard]] schedule::MissingId missing_id() override { return schedule::MissingId::hash; }
  [[nodiscard]] std::size_t batch_most() const override { return limits::events_per_batch; }

  [[nodiscard]] std::vector<std::string> send(std::span<const Outgoing> events) override {
    // A single event is sent as a batch too: a batch's answer reports every run, a single event's answer only the worst
    // one.
    std::vector<std::string> envelopes;
    for (const Outgoing& one : events) { envelopes.push_back(one.envelope); }
    std::string answer;
    try {
      answer = post(json_array(envelopes), "application/cloudevents-batch+json");
    } catch (const http::RemoteProblem& problem) {
      std::string message = problem.what();
      const std::optional<std::size_t> place = place_in(message);
      if (!place || problem.status != 400) { throw; }
      throw BadLine(*place, problem.name(), message);
    }
    const std::vector<std::string_view> items = JsonView(answer).items("events");
    if (items.size() != events.size()) { throw BadAnswer("the server did not tell of each event"); }
    return {items.begin(), items.end()};
  }

  void flush() override {}

 private:
  // Repeatable: an event that is sent again starts no second run.
  [[nodiscard]] std::string post(std::string body, std::string_view type) {
    return api_->ask({.method = "POST",
                      .target = path({"events"}),
                      .body = std::move(body),
                      .content_type = type,
                      .repeatable = true});
  }

  const std::shared_ptr<http::ApiClient> api_;
};

class ServerTransport : public Transport {
 public:
  explicit ServerTransport(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  [[nodiscard]] std::string location() override { return api_->url(); }
  // This machine's clock, which serves only to print relative times, so a small error does no harm.
  [[nodiscard]] Time now() override { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }
  [[nodiscard]] int page_with_payloads() const override { return server_page_with_payloads; }
  [[nodiscard]] std::string ask(const http::Question& question) override { return api_->ask(question); }
  [[nodiscard]] std::unique_ptr<Bulk> bulk() override { return std::make_unique<ServerBulk>(api_); }
  [[nodiscard]] std::unique_ptr<EventDoor> events() override { return std::make_unique<ServerEvents>(api_); }

 private:
  const std::shared_ptr<http::ApiClient> api_;
};

}  // namespace

std::unique_ptr<Transport> server_transport(std::shared_ptr<http::ApiClient> api) {
  return std::make_unique<ServerTransport>(std::move(api));
}

}  // namespace hapax::cli
