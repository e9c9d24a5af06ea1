#include "http/local_call.hpp"

#include <hapax/error.hpp>

#include "base/futex.hpp"
#include "http/call.hpp"
#include "http/head.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace hapax::http {

namespace {

class LocalCall final : public Call {
 public:
  LocalCall(const Principal& principal, const Question& question) : body_(question.body) {
    own_.method = question.method;
    own_.target = question.target;
    own_.headers.push_back({.name = "content-type", .value = question.content_type});
    split_target(own_);
    request_ = &own_;
    principal_ = principal;
  }

  [[nodiscard]] Response run(const Router& router) {
    Router::Match match = router.find(own_.method, own_.segments);
    parameters_ = std::move(match.parameters);
    Response response = match.route->handler(*this);
    return streamed_ ? std::move(*streamed_) : std::move(response);
  }

  void recheck_access() override {}
  [[nodiscard]] const std::string& body() override { return body_; }

  [[nodiscard]] LineRead next_line(std::string& line) override {
    line.clear();
    if (at_ >= body_.size()) { return LineRead::none_left; }
    const std::size_t end = std::min(body_.find('\n', at_), body_.size());
    line.assign(body_, at_, end - at_);
    at_ = end + 1;
    if (line.ends_with('\r')) { line.pop_back(); }
    return LineRead::whole;
  }

  // The signal may be raised after this call has returned, so the word that it sets is shared.
  [[nodiscard]] Woke wait_on(Signal& signal, Duration at_most) override {
    const auto raised = std::make_shared<base::FutexWord>(0);
    if (signal.taken_or_then([raised] { raised->set_and_wake_one(1); })) { return Woke::raised; }
    (void)raised->wait_while(0, at_most);
    return signal.take_back() ? Woke::raised : Woke::time_over;
  }

  [[nodiscard]] Woke pause(Duration at_most) override {
    if (at_most > Duration::zero()) { std::this_thread::sleep_for(at_most); }
    return Woke::time_over;
  }
  [[nodiscard]] bool draining() const override { return false; }

  void begin_stream(Response head) override {
    if (head.content_type == "text/event-stream") {
      throw Unsupported("a stream of events never ends; it is answered by a server only");
    }
    streamed_ = std::move(head);
  }
  [[nodiscard]] bool write(std::string_view piece) override {
    streamed_->body += piece;
    return true;
  }

 protected:
  void run_blocking(const std::function<void()>& fn) override { fn(); }
  void suspend(const std::function<void(std::function<void()>)>& start) override {
    const auto resumed = std::make_shared<base::FutexWord>(0);
    start([resumed] { resumed->set_and_wake_one(1); });
    resumed->wait_while(0);
  }

 private:
  Request own_;
  const std::string& body_;
  std::size_t at_ = 0;  // of next_line(): bytes before this position are used
  std::optional<Response> streamed_;
};

}  // namespace

Response answer_locally(const Router& router, const Principal& principal, const Question& question) {
  return LocalCall(principal, question).run(router);
}

}  // namespace hapax::http
