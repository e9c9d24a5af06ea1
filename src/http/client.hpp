// ApiClient: sends requests to a hapax server, and returns its JSON documents or throws its problems.
//
// Connections are kept and reused. Any thread may ask; each request under way has a connection of its own.
//
// A request whose answer was lost is sent again only if that is safe (Question::repeatable): reads, fenced writes,
// writes that set a state, an enqueue with a key. Any other request throws CommitUnknown, as the server may have
// executed it.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "base/stream.hpp"
#include "http/answer_reader.hpp"
#include "http/server_url.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::http {

struct ApiClientOptions {
  ServerUrl url;
  std::string token;           // empty: none
  std::string namespace_name;  // sent when there is no token
  std::string ca_file;         // empty: the system's certificates
  std::string agent;           // User-Agent, for the server's log: "hapax/0.1.0"
};

// The server cannot be reached, or does not answer. Trying again may help.
class ServerUnavailable : public StoreUnavailable {
 public:
  explicit ServerUnavailable(const std::string& message) : StoreUnavailable("ServerUnavailable", message) {}
};

// The server's refusal, with the name and message of its problem document.
class RemoteProblem : public Error {
 public:
  RemoteProblem(std::string_view name, const std::string& message, int http_status, std::string problem)
      : Error(name, message), status(http_status), document(std::move(problem)) {}
  const int status;
  const std::string document;  // JSON
};

struct Question {
  std::string_view method = "GET";
  std::string target{};  // path and query, percent-encoded
  std::string body{};
  std::string_view content_type = "application/json";
  bool repeatable = false;
  Duration waits{0};  // how long the server may delay its answer (a long poll)
};

class ApiClient {
 public:
  // Throws ConfigurationError for a certificate file that cannot be read. Connects when first asked.
  explicit ApiClient(ApiClientOptions options);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // The body of a 2xx answer. Throws RemoteProblem, ServerUnavailable, CommitUnknown, ConfigurationError (a
  // certificate).
  [[nodiscard]] std::string ask(const Question& question);

  [[nodiscard]] std::string get(std::string target, Duration waits = Duration::zero());
  // `repeatable`: doing it twice has the same effect as once.
  [[nodiscard]] std::string post(std::string target, std::string body, bool repeatable);
  [[nodiscard]] std::string put(std::string target, std::string body);
  [[nodiscard]] std::string remove(std::string target);

  [[nodiscard]] const std::string& url() const { return options_.url.text; }

 private:
  using Steady = std::chrono::steady_clock;
  struct Idle {
    std::unique_ptr<base::Stream> connection;
    Steady::time_point since;
  };

  [[nodiscard]] std::string head_of(const Question& question) const;
  [[nodiscard]] Answer exchange(const Question& question);
  // An idle connection, or null. A request that must not be repeated gets only a connection used less than a second
  // ago.
  [[nodiscard]] std::unique_ptr<base::Stream> take_idle(bool repeatable);
  [[nodiscard]] std::unique_ptr<base::Stream> connect();
  void put_back(std::unique_ptr<base::Stream> connection);

  const ApiClientOptions options_;
  std::unique_ptr<base::TlsContext> tls_;
  std::mutex mutex_;
  std::vector<Idle> idle_;  // guarded by mutex_
};

}  // namespace hapax::http
