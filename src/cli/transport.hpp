// Transport: carries a command's requests to the routes of the API (src/api/routes), in this process or on a server.
//
// Both ways lead to the same handlers, so a route is written once and each of its answers is the same document. Bulk
// enqueues and events go in batches of the transport's own size, because in this process they need no text in between.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "api/request_fields.hpp"
#include "http/api_question.hpp"
#include "schedule/event.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::http {
class ApiClient;
}

namespace hapax::cli {

class Shell;

// The answer to one line of a bulk enqueue.
struct BulkAnswer {
  std::string admission;  // a document; empty: the line was refused
  std::string error;
  std::string message;
};

// An invalid line of a batch.
class BadLine : public Error {
 public:
  BadLine(std::size_t at, std::string_view name, const std::string& message) : Error(name, message), index(at) {}
  const std::size_t index;  // of the line in its batch
};

// A bulk enqueue: admits requests batch by batch, each batch as a whole or not at all.
class Bulk {
 public:
  virtual ~Bulk() = default;
  // Adds a request to the batch. Throws if the request is found to be invalid; flush() may find more.
  virtual void add(api::RequestFields fields) = 0;
  [[nodiscard]] virtual bool is_full() const = 0;
  // Admits the batch; one answer per request, in order. Throws BadLine for an invalid request; then none of the batch
  // is admitted.
  [[nodiscard]] virtual std::vector<BulkAnswer> flush() = 0;
};

// Sends events to the activities that subscribe to them.
class EventDoor {
 public:
  virtual ~EventDoor() = default;
  // How this side treats an event without an ID; a server may still refuse such an event.
  [[nodiscard]] virtual schedule::MissingId missing_id() = 0;
  [[nodiscard]] virtual std::size_t batch_most() const = 0;
  // An event and the envelope that it was parsed from.
  struct Outgoing {
    schedule::Event event;
    std::string envelope;
  };
  // One document per event (api/activity_json.hpp), without "runs" if the caller may not read them. Throws BadLine for an
  // invalid event; then none of the events is routed.
  [[nodiscard]] virtual std::vector<std::string> send(std::span<const Outgoing> events) = 0;
  // Call this after the last event: writes counts that are not written yet.
  virtual void flush() = 0;
};

// Any thread may call `ask`.
class Transport {
 public:
  virtual ~Transport() = default;

  // The location of the store, or the URL of the server, for messages.
  [[nodiscard]] virtual std::string location() = 0;
  // The store's clock; through a server, this machine's clock.
  [[nodiscard]] virtual Time now() = 0;
  // The most executions with payloads that one answer may hold.
  [[nodiscard]] virtual int page_with_payloads() const = 0;

  // The body of the route's answer. Throws RemoteProblem for a refusal that the route answers as a problem document; in
  // this process an error that the route throws keeps its own type.
  [[nodiscard]] virtual std::string ask(const http::Question& question) = 0;
  [[nodiscard]] virtual std::unique_ptr<Bulk> bulk() = 0;
  [[nodiscard]] virtual std::unique_ptr<EventDoor> events() = 0;
};

// Answers from the shell's store, which it opens. The shell must outlive the transport.
[[nodiscard]] std::unique_ptr<Transport> local_transport(Shell& shell);
// Asks a server over HTTP (docs/reference/http.md).
[[nodiscard]] std::unique_ptr<Transport> server_transport(std::shared_ptr<http::ApiClient> api);

}  // namespace hapax::cli
