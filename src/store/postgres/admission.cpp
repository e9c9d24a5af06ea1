#include "store/postgres/admission.hpp"

#include "base/fault.hpp"
#include "store/postgres/fresh_rows.hpp"
#include "store/postgres/insert_rows.hpp"
#include "store/postgres/sql_error.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement patience_statement{"hapax_lock_timeout", "SELECT set_config('lock_timeout', $1::text, true)"};

// The fence is returned only for a row that its birth claim still holds.
constexpr Statement read_back{"hapax_admit_read_back", R"(
SELECT id, CASE state WHEN 1 THEN 1 ELSE 0 END::smallint, run, created_at, fence,
       CASE WHEN state = 1 THEN session END, claim_number
FROM {s}.live WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT id, status, run, created_at, fence, NULL, NULL FROM {s}.history WHERE id = ANY ($1::uuid[]))"};

Array id_array(const Items& items) {
  Array ids(Type::uuid, items.size());
  for (const NewExecution* item : items) { ids.uuid(item->id); }
  return ids;
}

}  // namespace

model::CatalogueVersions made_by(const Items& items) {
  CatalogueVersions versions;
  for (const NewExecution* item : items) { versions.add(*item); }
  return versions;
}

bool has_names(const Items& items) {
  return std::ranges::any_of(items, [](const NewExecution* item) { return item->identity && item->identity->name; });
}

std::string lock_timeout_text(Duration patience) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(patience).count()) + "ms";
}

Call lock_patience(Duration patience) { return {&patience_statement, Params().text(lock_timeout_text(patience))}; }

// One statement: 1 round trip.
std::vector<Admission> admit_plain(const AdmissionWork& work, const Items& items) {
  std::vector<NewRow> rows;
  rows.reserve(items.size());
  for (const NewExecution* item : items) { rows.push_back({.item = item}); }
  const Call call = insert_call(rows, work.queues, work.offset_us, made_by(items));
  const Inserted inserted = read_inserted(work.connection.query(*call.statement, call.params));
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (const NewExecution* item : items) {
    if (!inserted.draining.empty() && inserted.draining.contains(work.queues.id(item->queue))) {
      admissions.push_back({.verdict = AdmissionVerdict::queue_draining});
      continue;
    }
    Admission admission{.id = item->id, .created_at = inserted.now};
    if (item->born_running && inserted.born_running.contains(item->id)) {
      admission.status = Status::running;
      admission.fence = 1;
    }
    admissions.push_back(std::move(admission));
  }
  return admissions;
}

std::optional<std::vector<Admission>> admit_fresh(const AdmissionWork& work, const Items& items, Duration patience,
                                                  bool& met) {
  const std::optional<Call> call = insert_fresh_call(items, work, patience);
  if (!call) { return std::nullopt; }
  try {
    const std::vector<Result> results = work.connection.pipeline({&*call, 1}, "postgres.admit.before_commit");
    if (results.front().rows() > 0) { return read_fresh(results.front(), items); }
  } catch (const SqlError& error) {
    if (error.is_logarithm_of_zero()) { throw_catalogue_changed(); }
    // An id that exists already was admitted by an earlier try.
    met = error.is_division_by_zero() || error.is_unique_violation();
    if (!met) { throw; }
  }
  return std::nullopt;
}

std::unordered_map<Uuid, Admission> read_back_admissions(Connection& connection, const Items& items) {
  std::unordered_map<Uuid, const NewExecution*> asked;
  for (const NewExecution* item : items) { asked.emplace(item->id, item); }
  const Result result = connection.query(read_back, Params().array(id_array(items)));
  std::unordered_map<Uuid, Admission> found;
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    Admission admission;
    admission.id = reader.uuid();
    admission.status = static_cast<Status>(reader.int2());
    admission.run = reader.int4();
    admission.created_at = reader.time();
    const std::int64_t fence = reader.int8();
    const std::optional<Uuid> session = reader.optional_uuid();
    const std::optional<std::int64_t> claim_number = reader.optional_int8();
    const auto& born = asked.at(admission.id)->born_running;
    if (born && session == born->session && claim_number == born->claim_number) { admission.fence = fence; }
    found.emplace(admission.id, std::move(admission));
  }
  return found;
}

}  // namespace hapax::store::postgres
