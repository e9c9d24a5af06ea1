// Bulk enqueue through a server: each batch is one NDJSON request, admitted as a whole or not at all.
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/server_backend.hpp"
#include "cli/server_path.hpp"

namespace hapax::cli {
namespace {

// The most bytes that a server admits in one transaction.
constexpr std::size_t server_bulk_batch_bytes = 8 << 20;

// On the command line the field idempotency_key of the API is called task_id.
std::string rename_key(const std::string& message) {
  constexpr std::string_view api_name = "idempotency_key: ";
  return message.starts_with(api_name) ? "task_id: " + message.substr(api_name.size()) : message;
}

class ServerBulk : public Bulk {
 public:
  explicit ServerBulk(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  void add(RequestFields fields) override {
    const std::string line = request_json(fields);
    // A batch whose answer was lost may be sent again if every line has a key: the duplicates return the first
    // executions.
    repeatable_ = repeatable_ && fields.task_id && fields.on_conflict == "return_existing";
    lines_ += line + "\n";
    bytes_ += line.size();
    ++count_;
  }

  [[nodiscard]] bool is_full() const override {
    return count_ >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= server_bulk_batch_bytes;
  }

  [[nodiscard]] std::vector<BulkAnswer> flush() override {
    std::string answer_text;
    try {
      answer_text = api_->ask({.method = "POST",
                               .target = path({"executions", "batch"}) + QueryText().add("atomic", "true").text(),
                               .body = std::move(lines_),
                               .content_type = "application/x-ndjson",
                               .repeatable = repeatable_});
    } catch (const http::RemoteProblem& problem) {
      const std::int64_t line = JsonView(problem.document).integer("line");
      if (line < 1) { throw; }
      throw BadLine(static_cast<std::size_t>(line - 1), problem.name(), rename_key(problem.what()));
    }
    std::vector<BulkAnswer> answers = read(answer_text);
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
  [[nodiscard]] std::vector<BulkAnswer> read(std::string_view answer_text) const {
    std::vector<BulkAnswer> answers;
    while (!answer_text.empty()) {
      const std::string_view line = answer_text.substr(0, answer_text.find('\n'));
      answer_text.remove_prefix(std::min(answer_text.size(), line.size() + 1));
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

}  // namespace

std::unique_ptr<Bulk> ServerBackend::bulk() { return std::make_unique<ServerBulk>(api_); }

}  // namespace hapax::cli
