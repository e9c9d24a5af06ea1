#include "http/client.hpp"

#include "base/json_view.hpp"
#include "base/text.hpp"

#include <optional>
#include <thread>

namespace hapax::http {
namespace {

constexpr Duration connect_patience = std::chrono::seconds(5);
// The longest time without a byte to or from the server, beside Question::waits.
constexpr Duration silence_patience = std::chrono::seconds(60);
constexpr int asked_most = 3;
constexpr Duration first_pause = std::chrono::milliseconds(100);
// Servers close idle connections; a connection that was used less than this ago is very likely still open.
constexpr std::chrono::seconds fresh_for{1};
constexpr std::chrono::seconds kept_for{30};
constexpr std::size_t kept_most = 8;

[[noreturn]] void throw_problem(const Answer& answer, const std::string& url) {
  const std::string status = std::to_string(answer.status);
  std::string name;
  std::string message;
  if (answer.header("content-type").starts_with("application/problem+json")) {
    base::check_answer(answer.body, url);
    const base::JsonView problem(answer.body);
    name = problem.text("error");
    message = problem.text("detail");
  }
  if (!name.empty()) { throw RemoteProblem(name, message, answer.status, answer.body); }
  // A proxy answered, or a server that is not hapax.
  if (answer.status >= 500) { throw ServerUnavailable(url + " answered " + status + " without an error document"); }
  throw base::BadAnswer(url + " answered " + status + " without an error document; is it a hapax server?");
}

// Throws for a request that was sent and not answered.
[[noreturn]] void give_up(const Question& question, const std::string& reason) {
  if (question.method == "GET") { throw ServerUnavailable(reason); }
  throw CommitUnknown(reason + "; whether it was done is not known, and asking again " +
                      (question.repeatable ? "is safe" : "may do it twice"));
}

}  // namespace

ApiClient::ApiClient(ApiClientOptions options) : options_(std::move(options)) {
  if (options_.url.tls) { tls_ = std::make_unique<base::TlsContext>(base::TlsFiles{.ca = options_.ca_file}); }
}

std::string ApiClient::head_of(const Question& question) const {
  std::string head(question.method);
  head += " " + options_.url.prefix + question.target + " HTTP/1.1\r\nHost: " + options_.url.authority() + "\r\n";
  head += "User-Agent: " + options_.agent + "\r\nAccept: application/json\r\n";
  if (!options_.token.empty()) {
    head += "Authorization: Bearer " + options_.token + "\r\n";
  } else if (!options_.namespace_name.empty()) {
    head += "Hapax-Namespace: " + options_.namespace_name + "\r\n";
  }
  if (question.method != "GET" && question.method != "DELETE") {
    head += "Content-Type: " + std::string(question.content_type) + "\r\n";
    head += "Content-Length: " + std::to_string(question.body.size()) + "\r\n";
  }
  return head + "\r\n";
}

std::unique_ptr<base::Stream> ApiClient::take_idle(bool repeatable) {
  const std::lock_guard lock(mutex_);
  const Steady::time_point now = Steady::now();
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (now - last.since > (repeatable ? kept_for : fresh_for) || last.connection->is_stale()) { continue; }
    return std::move(last.connection);
  }
  return nullptr;
}

std::unique_ptr<base::Stream> ApiClient::connect() {
  try {
    const base::StreamPeer peer{.host = options_.url.host,
                                .port = options_.url.port,
                                .shown = options_.url.text,
                                .trust_hint = "--ca-file names the certificates to trust"};
    return std::make_unique<base::Stream>(peer, tls_.get(), connect_patience);
  } catch (const base::StreamBroken& broken) {
    throw ServerUnavailable("cannot reach " + options_.url.text + ": " + broken.what());
  }
}

void ApiClient::put_back(std::unique_ptr<base::Stream> connection) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kept_most) { idle_.push_back({std::move(connection), Steady::now()}); }
}

Answer ApiClient::exchange(const Question& question) {
  const std::string head = head_of(question);
  for (int asked = 1;; ++asked) {
    std::unique_ptr<base::Stream> connection = take_idle(question.repeatable);
    try {
      if (!connection) { connection = connect(); }
    } catch (const ServerUnavailable& away) {
      // This try sent nothing; the server may have executed an earlier try.
      if (asked == 1) { throw; }
      give_up(question, away.what());
    }
    AnswerReader reader(*connection, silence_patience + question.waits);
    std::string trouble;
    try {
      connection->write(head, silence_patience);
      connection->write(question.body, silence_patience);
    } catch (const base::StreamBroken& broken) {
      // A server that refuses a request before it has read all of it answers, then closes: the answer is still read.
      trouble = broken.what();
    }
    try {
      Answer answer = reader.read();
      if (trouble.empty() && answer.keeps_alive) { put_back(std::move(connection)); }
      return answer;
    } catch (const base::StreamBroken& broken) {
      if (trouble.empty()) { trouble = broken.what(); }
    }
    const std::string reason = options_.url.text + " did not answer: " + trouble;
    if (!question.repeatable || asked == asked_most) { give_up(question, reason); }
    std::this_thread::sleep_for(first_pause * (1 << asked));
  }
}

std::string ApiClient::ask(const Question& question) {
  Answer answer = exchange(question);
  if (answer.status >= 400) { throw_problem(answer, options_.url.text); }
  if (answer.status >= 300) {
    throw base::BadAnswer(options_.url.text + " answered " + std::to_string(answer.status) + " and redirects to " +
                          base::quoted(answer.header("location")) + "; expected that URL instead");
  }
  if (answer.header("content-type").starts_with("application/json")) {
    base::check_answer(answer.body, options_.url.text);
  } else if (!answer.header("content-type").starts_with("application/x-ndjson")) {
    throw base::BadAnswer(options_.url.text + " answered with text that is not JSON; is it a hapax server?");
  }
  return std::move(answer.body);
}

std::string ApiClient::get(std::string target, Duration waits) {
  return ask({.method = "GET", .target = std::move(target), .repeatable = true, .waits = waits});
}

std::string ApiClient::post(std::string target, std::string body, bool repeatable) {
  return ask({.method = "POST", .target = std::move(target), .body = std::move(body), .repeatable = repeatable});
}

}  // namespace hapax::http
