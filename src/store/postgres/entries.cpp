#include "store/postgres/entries.hpp"

#include <array>

namespace hapax::store::postgres {

void EntryArrays::add(const Uuid& execution, std::int64_t fence, std::span<const model::JournalEntry> entries,
                      const Children& children) {
  for (const model::JournalEntry& entry : entries) {
    empty_ = false;
    executions_.uuid(execution);
    fences_.int8(fence);
    positions_.int4(entry.position);
    kinds_.int2(entry.kind);
    names_.bytes(entry.name);
    data_.bytes(entry.data);
    const auto child = children.find(&entry);
    child == children.end() ? children_.null() : children_.uuid(child->second);
  }
}

void EntryArrays::append_to(Params& params) {
  for (Array* array : {&executions_, &fences_, &positions_, &kinds_, &names_, &data_, &children_}) {
    params.array(std::move(*array));
  }
}

void EntryArrays::append_six_to(Params& params) {
  for (Array* array : {&executions_, &fences_, &positions_, &kinds_, &names_, &data_}) {
    params.array(std::move(*array));
  }
}

namespace {

constexpr std::array<std::string_view, 7> types{"uuid", "bigint", "int", "smallint", "text", "bytea", "uuid"};

// The first `count` types as parameters, numbered from `first`.
std::string arrays(int first, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "$" : ", $") + std::to_string(first + static_cast<int>(i)) + "::" + std::string(types[i]) + "[]";
  }
  return text;
}

}  // namespace

// IS TRUE keeps the planner from turning IN into a join, which without hash joins would compare every pair. As a
// subplan it costs one hash table probe for each entry.
std::string append_sql(int first, std::string_view source) {
  return "INSERT INTO {s}.journal (execution, position, fence, at, kind, name, data, child)\n"
         "  SELECT e.execution, e.position, e.fence, t.now, e.kind, e.name, e.data, e.child\n"
         "  FROM t, unnest(" +
         arrays(first, 7) +
         ") e(execution, fence, position, kind, name, data, child)\n  WHERE (e.execution IN (SELECT id FROM " +
         std::string(source) + ")) IS TRUE";
}

std::string append_all_sql(int first) {
  return "INSERT INTO {s}.journal (execution, position, fence, at, kind, name, data)\n"
         "  SELECT e.execution, e.position, e.fence, t.now, e.kind, e.name, e.data\n"
         "  FROM t, unnest(" +
         arrays(first, 6) + ") e(execution, fence, position, kind, name, data)";
}

}  // namespace hapax::store::postgres
