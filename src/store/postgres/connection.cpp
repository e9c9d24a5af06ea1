#include "store/postgres/connection.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "store/postgres/sql_error.hpp"

#include <poll.h>

namespace hapax::store::postgres {

namespace {

// See Planning. JIT is off as the disabled paths' fictitious costs would wake it up.
constexpr const char* hot_options =
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
    " -c enable_bitmapscan=off -c enable_sort=off -c jit=off -c default_transaction_isolation=read\\ committed"
    // Rows are locked for milliseconds, except by callers' own transactions: those must not hold up a worker.
    " -c lock_timeout=1000";

std::string sqlstate_of(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

bool is_error(ExecStatusType status) { return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE; }

}  // namespace

Connection::Connection(const Settings& settings, const ConnectionOptions& options, Planning planning)
    : settings_(settings), prepares_(settings.prepared) {
  connect(options, settings.prepared ? planning : Planning::plain);
}

Connection::Connection(const Settings& settings, PGconn* borrowed)
    : settings_(settings), connection_(borrowed), owned_(false), prepares_(false) {}

Connection::~Connection() {
  if (owned_) { PQfinish(connection_); }
}

void Connection::connect(const ConnectionOptions& options, Planning planning) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  std::string server_options = planning == Planning::hot ? hot_options : "";
  for (const auto& [name, value] : options) {
    if (name == "options") {
      server_options = value + " " + server_options;
    } else {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
  }
  if (!server_options.empty()) {
    names.push_back("options");
    values.push_back(server_options.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  const auto refuse = [&](const std::string& why) {
    PQfinish(connection_);
    connection_ = nullptr;
    throw StoreUnavailable(settings_.location + ": " + why);
  };
  const auto deadline = std::chrono::steady_clock::now() + settings_.connect_timeout;
  connection_ = PQconnectStartParams(names.data(), values.data(), 0);
  if (connection_ == nullptr) { throw StoreUnavailable("out of memory for a connection"); }
  // A library never prints.
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED || PQstatus(connection_) == CONNECTION_BAD) {
      refuse(one_line(PQerrorMessage(connection_)));
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait_socket(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, left)) {
      refuse("no connection within " + format_duration(settings_.connect_timeout));
    }
    state = PQconnectPoll(connection_);
  }
  PQsetnonblocking(connection_, 1);
}

bool Connection::is_broken() const { return broken_ || PQstatus(connection_) != CONNECTION_OK; }

bool Connection::wait_socket(short events, std::chrono::milliseconds at_most) const {
  pollfd entry{.fd = PQsocket(connection_), .events = events, .revents = 0};
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) { return true; }
    if (ready == 0 || errno != EINTR) { return false; }
  }
}

void Connection::fail(const std::string& what) {
  broken_ = true;
  throw ConnectionBroken(what);
}

void Connection::flush() {
  while (true) {
    const int left = PQflush(connection_);
    if (left == 0) { return; }
    if (left < 0) {
      // The server may have said why before it closed; that waits in the input.
      if (PQconsumeInput(connection_) == 0 || PQstatus(connection_) != CONNECTION_OK) {
        fail(one_line(PQerrorMessage(connection_)));
      }
    }
    if (!wait_socket(POLLIN | POLLOUT, answer_limit)) { fail("the server does not take data"); }
    if (PQconsumeInput(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  }
}

Result Connection::next_result() {
  while (PQisBusy(connection_) != 0) {
    const bool is_there = awake_ && awake_wait_.look(PQsocket(connection_));
    if (!is_there && !wait_socket(POLLIN, answer_limit)) { fail("no answer from the server"); }
    if (PQconsumeInput(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  }
  return Result(PQgetResult(connection_));
}

void Connection::check(const Result& result) {
  if (result.get() == nullptr) { fail("no result from the server"); }
  if (!is_error(PQresultStatus(result.get()))) { return; }
  const std::string state = sqlstate_of(result.get());
  const std::string message = one_line(PQresultErrorMessage(result.get()));
  if (state.empty() || ends_connection(state) || PQstatus(connection_) != CONNECTION_OK) { fail(message); }
  throw SqlError(state, message);
}

// All results of what was sent; the last counts, an error before any.
Result Connection::collect() {
  Result last;
  Result error;
  while (true) {
    Result result = next_result();
    if (result.get() == nullptr) { break; }
    const ExecStatusType status = PQresultStatus(result.get());
    if (is_error(status)) {
      if (error.get() == nullptr) { error = std::move(result); }
      if (PQstatus(connection_) != CONNECTION_OK) { break; }
    } else if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      fail("an unexpected COPY");
    } else {
      last = std::move(result);
    }
  }
  if (error.get() != nullptr) { check(error); }
  check(last);
  return last;
}

void Connection::prepare(const Statement& statement) {
  auto [at, is_new] = texts_.try_emplace(&statement);
  if (!is_new) { return; }
  at->second = sql(statement.text);
  if (!prepares_) { return; }
  if (PQsendPrepare(connection_, statement.name, at->second.c_str(), 0, nullptr) == 0) {
    texts_.erase(at);
    fail(one_line(PQerrorMessage(connection_)));
  }
  try {
    flush();
    collect();
  } catch (...) {
    texts_.erase(at);
    throw;
  }
}

void Connection::send(const Statement& statement, const Params& params) {
  const Params::Raw raw = params.raw();
  const int sent =
      prepares_ ? PQsendQueryPrepared(connection_, statement.name, raw.count, raw.values, raw.lengths, raw.formats, 1)
                : PQsendQueryParams(connection_, texts_.at(&statement).c_str(), raw.count, raw.types, raw.values,
                                    raw.lengths, raw.formats, 1);
  if (sent == 0) { fail(one_line(PQerrorMessage(connection_))); }
}

Result Connection::query(const Statement& statement, const Params& params) {
  prepare(statement);
  send(statement, params);
  flush();
  return collect();
}

Result Connection::call_awake(const Call& call, const char* before_commit) {
  awake_ = settings_.awake;
  try {
    Result result = std::move(pipeline({&call, 1}, before_commit).front());
    awake_ = false;
    return result;
  } catch (...) {
    awake_ = false;
    throw;
  }
}

std::vector<Result> Connection::pipeline(std::span<const Call> calls, const char* before_commit) {
  for (const Call& call : calls) { prepare(*call.statement); }
  if (PQenterPipelineMode(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  for (const Call& call : calls) { send(*call.statement, call.params); }
  if (before_commit != nullptr) {
    try {
      base::fault_point(before_commit);
    } catch (const base::FaultInjected& fault) { fail(fault.what()); }
  }
  if (PQpipelineSync(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  flush();
  std::vector<Result> results;
  Result error;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Result result = next_result();
    if (result.get() == nullptr) { fail("the pipeline ended early"); }
    if (is_error(PQresultStatus(result.get())) && error.get() == nullptr) {
      error = std::move(result);
      if (PQstatus(connection_) != CONNECTION_OK) { check(error); }
    } else {
      results.push_back(std::move(result));
    }
    if (next_result().get() != nullptr) {  // each call's results end with a null one
      fail("a call with two results");
    }
  }
  const Result sync = next_result();
  if (sync.get() == nullptr || PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) {
    // The commit itself was refused, or the connection broke there.
    if (error.get() == nullptr && sync.get() != nullptr && is_error(PQresultStatus(sync.get()))) {
      const std::string state = sqlstate_of(sync.get());
      broken_ = true;
      if (!state.empty() && !ends_connection(state)) {
        throw SqlError(state, one_line(PQresultErrorMessage(sync.get())));
      }
    }
    fail("the connection broke at commit");
  }
  if (PQexitPipelineMode(connection_) == 0) { broken_ = true; }
  if (error.get() != nullptr) { check(error); }
  return results;
}

Result Connection::command(const std::string& text) {
  if (PQsendQuery(connection_, text.c_str()) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  flush();
  return collect();
}

Result Connection::query_text(const std::string& text, const Params& params, bool binary_result) {
  const Params::Raw raw = params.raw();
  if (PQsendQueryParams(connection_, text.c_str(), raw.count, raw.types, raw.values, raw.lengths, raw.formats,
                        binary_result ? 1 : 0) == 0) {
    fail(one_line(PQerrorMessage(connection_)));
  }
  flush();
  return collect();
}

}  // namespace hapax::store::postgres
