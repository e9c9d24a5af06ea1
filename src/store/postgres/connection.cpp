#include "store/postgres/connection.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/plain_path.hpp"
#include "store/postgres/result.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdlib>

namespace hapax::store::postgres {

namespace {

constexpr Duration connect_timeout_max = std::chrono::hours(1);

// Planning::hot. JIT is off: disabled plan types get huge costs, which would turn it on.
constexpr const char* hot_options =
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
    " -c enable_bitmapscan=off -c enable_sort=off -c jit=off -c default_transaction_isolation=read\\ committed"
    // Rows are locked for milliseconds, except by callers' own transactions, which must not block a worker.
    " -c lock_timeout=1000";

std::string sqlstate_of(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

// Whether the server ends the session with this error, whatever its code.
bool is_fatal(const PGresult* result) {
  const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity != nullptr && (std::string_view(severity) == "FATAL" || std::string_view(severity) == "PANIC");
}

bool is_error(ExecStatusType status) { return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE; }

}  // namespace

Connection::Connection(const Settings& settings, std::shared_ptr<Hosts> hosts, Planning planning)
    : settings_(settings), hosts_(std::move(hosts)), prepares_(settings.prepares()) {
  connect(prepares_ ? planning : Planning::plain);
}

Connection::Connection(const Settings& settings, PGconn* borrowed)
    : settings_(settings), connection_(borrowed), owned_(false), prepares_(false) {}

Connection::~Connection() {
  if (owned_) { PQfinish(connection_); }
}

// A pooler may refuse a connection because of the planner's startup options, so a host that refuses them is tried
// without. If that works, they are tried once more: a server that was only starting up accepts them now, a pooler never
// does.
void Connection::connect(Planning planning) {
  std::string trouble;
  const std::size_t first = hosts_->first();
  for (std::size_t tried = 0; tried < hosts_->size(); ++tried) {
    host_ = (first + tried) % hosts_->size();
    const ConnectionOptions& options = hosts_->at(host_);
    bool timed_out = false;
    std::string why = connect_to(options, planning, host_timeout(options), timed_out);
    if (!why.empty() && !timed_out && planning == Planning::hot &&
        connect_to(options, Planning::plain, host_timeout(options), timed_out).empty()) {
      why = connect_to(options, planning, host_timeout(options), timed_out);
      if (!why.empty() && !timed_out) {
        why = connect_to(options, Planning::plain, host_timeout(options), timed_out);
        prepares_ = !why.empty();
        if (!prepares_) { settings_.learned->unprepared.store(true); }
      }
    }
    if (why.empty() && hosts_->size() > 1) { why = look_at_timeline(); }
    if (why.empty()) {
      hosts_->answered(host_);
      return;
    }
    PQfinish(connection_);
    connection_ = nullptr;
    broken_ = false;
    trouble += (trouble.empty() ? "" : "; ") + why;
  }
  throw StoreUnavailable(settings_.location + ": " + trouble);
}

// The URL's connect_timeout (seconds), or up to 3 s for each of several hosts. Less when the server has just left a
// call without an answer.
Duration Connection::host_timeout(const ConnectionOptions& options) const {
  Duration time = hosts_->size() > 1 ? std::min<Duration>(host_timeout_default, settings_.connect_timeout)
                                     : settings_.connect_timeout;
  for (const auto& [name, value] : options) {
    const long seconds = name == "connect_timeout" ? std::strtol(value.c_str(), nullptr, 10) : 0;
    if (seconds > 0) { time = std::min<Duration>(std::chrono::seconds(seconds), connect_timeout_max); }
  }
  return settings_.learned->unanswering.load() ? std::min(time, settings_.read_back_time()) : time;
}

std::string Connection::look_at_timeline() {
  static constexpr const char* timeline =
      "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END";
  try {
    const AnswerLimit limit(*this, host_timeout(hosts_->at(host_)));
    const Result result = command(timeline);
    const unsigned long number = std::strtoul(PQgetvalue(result.get(), 0, 0), nullptr, 16);
    const bool current = number == 0 || hosts_->is_current(static_cast<std::uint32_t>(number));
    return current ? "" : "another server was promoted over it";
  } catch (const SqlError&) {
    return "";  // the role may not read the timeline
  } catch (const ConnectionBroken& broken) { return broken.what(); }
}

std::string Connection::connect_to(const ConnectionOptions& options, Planning planning, Duration at_most,
                                   bool& timed_out) {
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
  PQfinish(connection_);
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  connection_ = PQconnectStartParams(names.data(), values.data(), 0);
  if (connection_ == nullptr) { return "out of memory for a connection"; }
  // A library never prints.
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED || PQstatus(connection_) == CONNECTION_BAD) {
      return one_line(PQerrorMessage(connection_));
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait_socket(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, left)) {
      timed_out = true;
      return "no connection within " + format_duration(at_most);
    }
    state = PQconnectPoll(connection_);
  }
  PQsetnonblocking(connection_, 1);
  return "";
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

void Connection::fault_point(const char* name) {
  try {
    base::fault_point(name);
  } catch (const base::FaultInjected& fault) { fail(fault.what()); }
}

void Connection::fail(const std::string& what) {
  broken_ = true;
  throw ConnectionBroken(what);
}

void Connection::fail_silent(const std::string& what) {
  broken_ = true;
  // A failure of a borrowed connection says nothing about the hosts of the store's own connections.
  if (hosts_ != nullptr) {
    settings_.learned->unanswering.store(true);
    hosts_->hung(host_);
  }
  throw ConnectionBroken(what + " within " + format_duration(std::chrono::duration_cast<Duration>(answer_limit())));
}

std::chrono::milliseconds Connection::answer_limit() const {
  return std::chrono::ceil<std::chrono::milliseconds>(answer_limit_.value_or(settings_.answer_time()));
}

void Connection::flush() {
  while (true) {
    const int left = PQflush(connection_);
    if (left == 0) { return; }
    if (left < 0) {
      // The server may have sent a reason before it closed, which is in the input.
      if (PQconsumeInput(connection_) == 0 || PQstatus(connection_) != CONNECTION_OK) {
        fail(one_line(PQerrorMessage(connection_)));
      }
    }
    if (!wait_socket(POLLIN | POLLOUT, answer_limit())) { fail_silent("the server did not take data"); }
    if (PQconsumeInput(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  }
}

Result Connection::next_result() {
  while (PQisBusy(connection_) != 0) {
    const bool is_there = spins_ && spin_wait_.poll_briefly(PQsocket(connection_));
    if (!is_there && !wait_socket(POLLIN, answer_limit())) { fail_silent("no answer from the server"); }
    if (PQconsumeInput(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  }
  if (settings_.learned->unanswering.load(std::memory_order_relaxed)) { settings_.learned->unanswering.store(false); }
  return Result(PQgetResult(connection_));
}

void Connection::check(const Result& result) {
  if (result.get() == nullptr) { fail("no result from the server"); }
  if (!is_error(PQresultStatus(result.get()))) { return; }
  const std::string state = sqlstate_of(result.get());
  const std::string message = one_line(PQresultErrorMessage(result.get()));
  if (state.empty() || ends_connection(state) || is_fatal(result.get()) || PQstatus(connection_) != CONNECTION_OK) {
    fail(message);
  }
  SqlError error(state, message);
  // A session keeps the read-only default that it began with, and a standby stays a standby. Only a new connection can
  // write.
  if (error.is_read_only()) { broken_ = true; }
  // A pooler shares sessions between clients, so statements prepared on one are missing or taken. From now on nothing
  // is prepared.
  if (error.is_mixed_up_statement() && owned_ && prepares_) {
    settings_.learned->unprepared.store(true);
    broken_ = true;
  }
  throw error;
}

// Reads all results of what was sent. Returns the last, or throws the first error.
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
  if (states_durability()) {
    const Step step{&statement, &params};
    return std::move(run_steps({&step, 1}, nullptr).front());
  }
  prepare(statement);
  send(statement, params);
  flush();
  return collect();
}

void Connection::begin() { command(std::string("BEGIN ISOLATION LEVEL READ COMMITTED; ") + durability_text); }

Result Connection::call_and_spin(const Call& call, const char* before_commit) {
  static const bool may_spin = !base::takes_plain_path("pg-spin-wait");
  spins_ = may_spin && settings_.awake;
  try {
    Result result = std::move(pipeline({&call, 1}, before_commit).front());
    spins_ = false;
    return result;
  } catch (...) {
    spins_ = false;
    throw;
  }
}

std::vector<Result> Connection::pipeline(std::span<const Call> calls, const char* before_commit) {
  std::vector<Step> steps;
  steps.reserve(calls.size());
  for (const Call& call : calls) { steps.push_back({call.statement, &call.params}); }
  return run_steps(steps, before_commit);
}

// A transaction of the store's own states its durability in the same round trip, before its other statements but after
// a BEGIN, which can set the isolation level only before the first query.
std::vector<Result> Connection::run_steps(std::span<const Step> own_steps, const char* before_commit) {
  static const Params no_params;
  std::vector<Step> steps(own_steps.begin(), own_steps.end());
  std::optional<std::size_t> durability_at;
  if (states_durability() && !steps.empty()) {
    durability_at = std::string_view(steps.front().statement->text).starts_with("BEGIN") ? 1 : 0;
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(*durability_at), {&durability_statement, &no_params});
  }
  for (const Step& step : steps) { prepare(*step.statement); }
  if (PQenterPipelineMode(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  for (const Step& step : steps) { send(*step.statement, *step.params); }
  if (before_commit != nullptr) { fault_point(before_commit); }
  if (PQpipelineSync(connection_) == 0) { fail(one_line(PQerrorMessage(connection_))); }
  flush();
  std::vector<Result> results;
  Result error;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Result result = next_result();
    if (result.get() == nullptr) { fail("the pipeline ended early"); }
    if (is_error(PQresultStatus(result.get())) && error.get() == nullptr) {
      error = std::move(result);
      if (PQstatus(connection_) != CONNECTION_OK) { check(error); }
    } else if (i != durability_at) {
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
