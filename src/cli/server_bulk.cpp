// Bulk enqueue through a server: each batch one request, NDJSON, admitted as a whole or not at all.
#include "base/limits.hpp"
#include "cli/server_backend.hpp"
#include "cli/server_path.hpp"
#include "wire/json_view.hpp"

namespace hapax::cli {
namespace {

using namespace wire;

// What the server takes as one transaction.
constexpr std::size_t server_bulk_batch_bytes = 8 << 20;

// What the API calls idempotency_key is task_id on the command line.
std::string in_our_words(const std::string& message) {
  constexpr std::string_view api_name = "idempotency_key: ";
  return message.starts_with(api_name) ? "task_id: " + message.substr(api_name.size()) : message;
}

class ServerBulk : public Bulk {
 public:
  explicit ServerBulk(std::shared_ptr<client::ApiClient> api) : api_(std::move(api)) {}

  void add(RequestFields fields) override {
    const std::string line = request_json(fields);
    // With a key, a second time meets the first: then a lost answer may be asked for again.
    repeatable_ = repeatable_ && fields.task_id && fields.on_conflict == "return_existing";
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
    } catch (const client::RemoteProblem& problem) {
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
      // A refusal has the error's name here, a failed holder the error itself.
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

  const std::shared_ptr<client::ApiClient> api_;
  std::string lines_;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  bool repeatable_ = true;
};

}  // namespace

std::unique_ptr<Bulk> ServerBackend::bulk() { return std::make_unique<ServerBulk>(api_); }

}  // namespace hapax::cli
