#include "store/postgres/live_row.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

bool is_copied(const Column& column, unsigned insert) {
  return (column.inserts & insert) != 0 && (column.put != nullptr || column.copy != nullptr);
}

// The columns that an insert lacks and that have unusual values. Never destroyed, as threads may outlive main.
template <class Lacks>
const std::vector<const Column*>& lacking(const Lacks& lacks) {
  auto& some = *new std::vector<const Column*>();
  for (const Column& column : all_columns()) {
    if (column.is_usual != nullptr && lacks(column)) { some.push_back(&column); }
  }
  return some;
}

bool has_usual_values(const NewExecution& item, const std::vector<const Column*>& lacking) {
  return std::ranges::all_of(lacking, [&](const Column* column) { return column->is_usual(item); });
}

template <class Name>
std::string joined(const std::vector<const Column*>& some, std::size_t count, const Name& name) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) { list += (i == 0 ? "" : ", ") + name(*some[i], static_cast<int>(i)); }
  return list;
}

template <class Is, class Show>
std::string joined_columns(const Is& is, const Show& show) {
  std::string list;
  for (const Column& column : all_columns()) {
    if (is(column)) { list += (list.empty() ? "" : ", ") + show(std::string(column.name), column); }
  }
  return list;
}

bool is_in_general(const Column& column) {
  return !column.value.empty() || (column.put != nullptr && (column.inserts & Insert::general) != 0);
}

std::string value_of(const std::string& name, const Column& column) {
  return column.value.empty() ? name : std::string(column.value);
}

}  // namespace

namespace inputs {

const Column delay{
    .name = "delay", .type = Type::int8, .put = [](Array& to, const NewRow& row) { to.int8(row.item->delay.count()); }};
const Column at{.name = "at", .type = Type::int8, .put = [](Array& to, const NewRow& row) {
                  row.item->run_at ? to.int8(row.item->run_at->time_since_epoch().count()) : to.null();
                }};
const Column identity{.name = "identity", .type = Type::bytea, .put = [](Array& to, const NewRow& row) {
                        to.digest(row.item->identity->hash);
                      }};
const Column fingerprint{.name = "fingerprint", .type = Type::bytea, .put = [](Array& to, const NewRow& row) {
                           const auto& identity = row.item->identity;
                           identity && identity->fingerprint ? to.digest(*identity->fingerprint) : to.null();
                         }};
const Column takes_identity{.name = "takes_identity", .type = Type::boolean, .put = [](Array& to, const NewRow& row) {
                              to.boolean(row.takes_identity);
                            }};
const Column dedup_window{.name = "dedup_window", .type = Type::int8, .put = [](Array& to, const NewRow& row) {
                            const auto& identity = row.item->identity;
                            identity && identity->dedup_window ? to.int8(identity->dedup_window->count()) : to.null();
                          }};
const Column throttle{.name = "throttle", .type = Type::int8, .put = [](Array& to, const NewRow& row) {
                        to.optional_int8(row.item->identity ? throttle_of(*row.item->identity) : std::nullopt);
                      }};
const Column name{.name = "name", .type = Type::bytea, .put = [](Array& to, const NewRow& row) {
                    const auto& identity = row.item->identity;
                    identity && identity->name ? to.digest(*identity->name) : to.null();
                  }};
const Column born_session{.name = "born_session", .type = Type::uuid, .put = [](Array& to, const NewRow& row) {
                            row.may_be_born_running ? to.uuid(row.item->born_running->session) : to.null();
                          }};
const Column born_claim{.name = "born_claim", .type = Type::int8, .put = [](Array& to, const NewRow& row) {
                          row.may_be_born_running ? to.int8(row.item->born_running->claim_number) : to.null();
                        }};

}  // namespace inputs

void set_queue_ids(std::vector<NewRow>& rows, const QueueIds& queues) {
  BatchQueueIds numbers(queues);
  for (NewRow& row : rows) { row.queue_id = numbers.id(row.item->queue); }
}

bool is_guard(const NewExecution& item) { return item.kind == Kind::guard; }

bool is_usual(const NewExecution& item) {
  static const auto& by_lean_inserts =
      lacking([](const Column& column) { return (column.inserts & Insert::keyed) == 0; });
  return !is_guard(item) && has_usual_values(item, by_lean_inserts);
}

bool can_be_copied(const NewExecution& item) {
  static const auto& by_copy = lacking([](const Column& column) { return !is_copied(column, Insert::copy_keyed); });
  return !item.born_running && has_usual_values(item, by_copy);
}

std::optional<std::int64_t> throttle_of(const IdentityClaim& claim) {
  return claim.mode == IdentityMode::throttle ? std::optional(claim.throttle.count()) : std::nullopt;
}

InsertParams::InsertParams(unsigned insert, std::initializer_list<const Column*> further, int first, Which which)
    : first_(first) {
  for (const Column& column : all_columns()) {
    const bool wanted = which == Which::all || column.varies == (which == Which::varying);
    if (wanted && column.put != nullptr && (column.inserts & insert) != 0) { all_.push_back(&column); }
  }
  columns_ = all_.size();
  all_.insert(all_.end(), further.begin(), further.end());
}

InsertParams::InsertParams(bool Column::*is, std::initializer_list<const Column*> further, int first) : first_(first) {
  for (const Column& column : all_columns()) {
    if (column.*is && column.put != nullptr) { all_.push_back(&column); }
  }
  columns_ = all_.size();
  all_.insert(all_.end(), further.begin(), further.end());
}

std::string InsertParams::columns(std::string_view prefix) const {
  return joined(all_, columns_,
                [&](const Column& column, int) { return std::string(prefix) + std::string(column.name); });
}

std::string InsertParams::all(std::string_view prefix) const {
  return joined(all_, all_.size(),
                [&](const Column& column, int) { return std::string(prefix) + std::string(column.name); });
}

std::string InsertParams::arrays() const {
  return joined(all_, all_.size(), [&](const Column& column, int place) {
    return "$" + std::to_string(first_ + place) + "::" + std::string(name_of(column.type)) + "[]";
  });
}

std::string InsertParams::values() const {
  return joined(all_, columns_, [&](const Column& column, int) { return value(column.name); });
}

std::string InsertParams::value(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, [](const Column* column) { return column->name; });
  return "$" + std::to_string(first_ + (found - all_.begin())) + "::" + std::string(name_of((*found)->type));
}

void InsertParams::add_arrays(Params& params, const std::vector<NewRow>& rows) const {
  for (const Column* column : all_) {
    Array array(column->type, rows.size());
    for (const NewRow& row : rows) { column->put(array, row); }
    params.array(std::move(array));
  }
}

void InsertParams::add_values(Params& params, const NewRow& row) const {
  for (const Column* column : all_) {
    Array array(column->type, 1);
    column->put(array, row);
    params.value(std::move(array));
  }
}

std::string general_columns() {
  return joined_columns(is_in_general, [](const std::string& name, const Column&) { return name; });
}

std::string general_values() { return joined_columns(is_in_general, value_of); }

std::string replaced_values() {
  return joined_columns(
      [](const Column& column) { return column.replaced; },
      [](const std::string& name, const Column& column) { return value_of(name, column) + " AS " + name; });
}

std::string replaced_columns() {
  return joined_columns([](const Column& column) { return column.replaced; },
                        [](const std::string& name, const Column&) { return name + " = item." + name; });
}

std::string copied_columns(unsigned insert) {
  return joined_columns([&](const Column& column) { return is_copied(column, insert); },
                        [](const std::string& name, const Column&) { return name; });
}

std::int16_t count_copied(unsigned insert) {
  return static_cast<std::int16_t>(
      std::ranges::count_if(all_columns(), [&](const Column& column) { return is_copied(column, insert); }));
}

void put_copied(std::string& out, Array& fields, unsigned insert, const NewRow& row, std::int64_t now) {
  for (const Column& column : all_columns()) {
    if (!is_copied(column, insert)) { continue; }
    column.copy != nullptr ? column.copy(fields, row, now) : column.put(fields, row);
  }
  out.append(fields.elements());
  fields.clear();
}

}  // namespace hapax::store::postgres
