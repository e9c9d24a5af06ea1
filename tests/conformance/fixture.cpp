#include "conformance/fixture.hpp"

#include "base/base64.hpp"
#include "base/secret_file.hpp"
#include "model/identity.hpp"

#include <libpq-fe.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace hapax::conformance {

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error(std::string(name) + " is not set: ./dev test sets it");
  }
  return value;
}

std::string fresh_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "hapax-conformance.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) { throw std::runtime_error("no folder for the test: " + folder); }
  return folder;
}

// Unique among all processes that use the same server.
std::string fresh_schema() {
  std::string name = "t_";
  for (const char letter : base::new_uuid7().to_string()) {
    if (letter != '-') { name += letter; }
  }
  return name;
}

// Suppresses the notices about cascaded drops. The URL's parameters are cut off: they are hapax's own and libpq refuses
// them.
void drop_schema(const std::string& url, const std::string& schema) {
  PGconn* const connection = PQconnectdb(url.substr(0, url.find('?')).c_str());
  const std::string statement = "SET client_min_messages = error; DROP SCHEMA IF EXISTS " + schema + " CASCADE";
  PGresult* const result = PQexec(connection, statement.c_str());
  EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
}

std::string show(const std::optional<Time>& time) { return time ? format_time(*time) : "-"; }

std::string show(const std::optional<ErrorInfo>& error) {
  return error ? error->type + "(" + error->message + ")" + error->detail : "-";
}

FinishKind kind_that_ends_as(Status status) {
  switch (status) {
    case Status::completed: return FinishKind::completed;
    case Status::failed: return FinishKind::failed;
    case Status::cancelled: return FinishKind::cancelled;
    case Status::timed_out: return FinishKind::timed_out;
    case Status::pending:
    case Status::running: break;
  }
  throw std::logic_error("nothing ends as " + std::string(to_string(status)));
}

}  // namespace

void Conformance::SetUp() {
  const std::string kind = environment("HAPAX_TEST_STORE");
  store::OpenOptions options{.clock_offset_us = offset_us_};
  if (kind == "memory") {
    url_ = "memory:";
  } else if (kind == "sqlite") {
    folder_ = fresh_folder();
    url_ = "sqlite:" + folder_ + "/store.db";
  } else if (kind == "encrypted") {
    folder_ = fresh_folder();
    url_ = "sqlite:" + folder_ + "/store.db";
    key_file_ = folder_ + "/keys";
    base::append_secret_line(key_file_, "test " + base::to_base64(std::string(32, 'k')));
  } else if (kind == "postgres") {
    schema_ = fresh_schema();
    const std::string server = environment("HAPAX_TEST_POSTGRES_URL");
    url_ = server + (server.find('?') == std::string::npos ? '?' : '&') + "schema=" + schema_;
    options.migrate = store::Migrate::yes;
  } else {
    FAIL() << "HAPAX_TEST_STORE is '" << kind << "'; expected memory, sqlite, encrypted or postgres";
  }
  options.encryption_key_file = key_file_;
  store_ = store::open(url_, options);
  capabilities_ = store_->info().capabilities;
}

void Conformance::TearDown() {
  store_.reset();
  if (!schema_.empty()) { drop_schema(url_, schema_); }
  if (!folder_.empty()) { std::filesystem::remove_all(folder_); }
}

std::shared_ptr<Store> Conformance::second() {
  if (!capabilities_.shared) { return store_; }
  return store::open(url_,
                     {.migrate = store::Migrate::no, .clock_offset_us = offset_us_, .encryption_key_file = key_file_});
}

// ---- Requests ------------------------------------------------------------------------------------------------------

NewExecution Conformance::request(const std::string& task, const std::string& queue) {
  NewExecution item;
  item.id = base::new_uuid7();
  item.task = task;
  item.queue.name = queue;
  return item;
}

NewExecution Conformance::keyed(const std::string& key, const std::string& input) {
  NewExecution item = request();
  item.input = input;
  item.identity = IdentityClaim{
      .hash = identity_hash(
          {.namespace_name = item.queue.namespace_name, .scope = Scope::task, .name = item.task, .key = key}),
      .key = key,
      .fingerprint = input_fingerprint(input)};
  return item;
}

Admission Conformance::admit(const NewExecution& item) {
  const std::vector<Admission> admissions = store().admit({&item, 1});
  if (admissions.size() != 1) {
    ADD_FAILURE() << admissions.size() << " admissions of one request";
    return {};
  }
  return admissions.front();
}

Uuid Conformance::admit_id(const NewExecution& item) {
  const Admission admission = admit(item);
  EXPECT_TRUE(admission.created());
  EXPECT_EQ(admission.id, item.id);
  return admission.id;
}

// ---- Workers -------------------------------------------------------------------------------------------------------

Conformance::TestWorker Conformance::worker(Duration lease, std::vector<std::string> queues) {
  TestWorker made;
  made.session = base::new_uuid7();
  made.lease = lease;
  for (std::string& name : queues) { made.queues.push_back({.name = std::move(name)}); }
  NewSession session;
  session.id = made.session;
  session.worker = "worker-" + made.session.to_string().substr(24);
  session.host = "localhost";
  session.pid = 1;
  session.lease = lease;
  session.queues = made.queues;
  store().open_session(session);
  return made;
}

ClaimReply Conformance::claim_reply(TestWorker& worker, int limit, bool alone) {
  worker.claim_number += 1;
  return store().claim({.session = worker.session,
                        .claim_number = worker.claim_number,
                        .queues = worker.queues,
                        .tasks = worker.tasks,
                        .limit = limit,
                        .idle = limit,
                        .alone = alone});
}

std::vector<Claim> Conformance::claim(TestWorker& worker, int limit, bool alone) {
  return claim_reply(worker, limit, alone).claims;
}

Claim Conformance::claim_one(TestWorker& worker) {
  const std::vector<Claim> claims = claim(worker, 2);
  if (claims.size() != 1) {
    ADD_FAILURE() << claims.size() << " claims; expected one";
    return {};
  }
  return claims.front();
}

BeatReply Conformance::beat(const TestWorker& worker, const std::vector<Claim>& held) {
  Beat beat;
  beat.session = worker.session;
  beat.lease = worker.lease;
  beat.settled_claim_number = worker.claim_number;
  for (const Claim& claim : held) { beat.held.push_back({.id = claim.id, .fence = claim.fence}); }
  return store().beat(beat);
}

// ---- Outcomes ------------------------------------------------------------------------------------------------------

Finish Conformance::completed(const Claim& claim, const std::string& result) {
  Finish finish = ending(claim, FinishKind::completed);
  finish.result = result;
  return finish;
}

Finish Conformance::failed(const Claim& claim, const std::string& message) {
  Finish finish = ending(claim, FinishKind::failed);
  finish.error = ErrorInfo{.type = "Broken", .message = message, .detail = ""};
  return finish;
}

Finish Conformance::ending(const Claim& claim, FinishKind kind, Duration delay) {
  return {.id = claim.id, .fence = claim.fence, .kind = kind, .delay = delay};
}

FinishVerdict Conformance::finish(const Finish& finish) {
  const std::vector<FinishVerdict> verdicts = store().finish({&finish, 1});
  if (verdicts.size() != 1) {
    ADD_FAILURE() << verdicts.size() << " verdicts on one finish";
    return FinishVerdict::stale;
  }
  return verdicts.front();
}

// ---- Looking -------------------------------------------------------------------------------------------------------

Execution Conformance::get(const Uuid& id) {
  std::optional<Execution> found = store().get(id);
  if (!found) {
    ADD_FAILURE() << "no execution " << id.to_string();
    return {};
  }
  return *std::move(found);
}

std::string Conformance::picture(const Uuid& id) {
  const Execution it = get(id);
  std::ostringstream out;
  out << to_string(it.status) << " attempt " << it.attempt << " lost " << it.lost << " fence " << it.fence << " run "
      << it.run << " queue " << it.queue.name << "\nrun_at " << show(it.run_at) << " started " << show(it.started_at)
      << " finished " << show(it.finished_at) << " expires " << show(it.expires_at) << "\nresult "
      << it.result.value_or("-") << " error " << show(it.error) << "\nworker " << it.worker << " session "
      << (it.session ? it.session->to_string() : "-") << " cancel " << it.cancel_requested << " dead " << it.dead
      << " note " << it.note << " progress " << it.progress.value_or(-1) << it.progress_message << '\n';
  for (const Attempt& attempt : store().attempts(id)) {
    out << attempt.number << ' ' << attempt.outcome << ' ' << attempt.worker << ' ' << show(attempt.started_at) << ' '
        << show(attempt.ended_at) << ' ' << show(attempt.error) << '\n';
  }
  return out.str();
}

SweepReport Conformance::sweep(bool retention) { return store().sweep({.retention = retention}); }

void Conformance::bring_to(const Uuid& id, Status status) {
  const Execution before = get(id);
  if (before.status == status) { return; }
  if (before.status == Status::pending && status == Status::cancelled) {
    const std::vector<CancelResult> results = store().cancel({&id, 1}, "brought to it");
    ASSERT_EQ(results.at(0).verdict, CancelVerdict::cancelled);
    return;
  }
  Claim claim;
  claim.id = id;
  claim.fence = before.fence;
  if (before.status == Status::pending) {
    // The claim may return other due executions as well; they are released.
    TestWorker helper = worker(24h, {before.queue.name});
    helper.queues.front().namespace_name = before.queue.namespace_name;
    if (before.kind == Kind::workflow) { helper.tasks = {before.task}; }
    claim.fence = 0;
    for (const Claim& one : this->claim(helper, 1000)) {
      if (one.id == id) {
        claim.fence = one.fence;
      } else {
        ASSERT_EQ(finish(ending(one, FinishKind::released)), FinishVerdict::accepted);
      }
    }
    ASSERT_NE(claim.fence, 0) << id.to_string() << " could not be claimed";
  }
  if (status != Status::running) {
    ASSERT_EQ(finish(ending(claim, kind_that_ends_as(status))), FinishVerdict::accepted);
  }
  ASSERT_EQ(this->status(id), status);
}

}  // namespace hapax::conformance
