// The columns of an execution's rows in `live` and `history`, in one table. Every statement that names whole rows is made
// from the table: the INSERTs of admissions, the reads of live rows, executions and claims, the copy into history, and
// the fields that a retry takes over.
//
// A new column needs a value in model/execution.hpp, its place in the schema, and here a member of LiveRow (or EndedRow)
// and a row of the table. Everything is resolved when the program is compiled: a statement binds and reads its columns
// one after the other, as if they were written out.
#pragma once

#include "model/claim_limits.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/sqlite/connection.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace hapax::store::sqlite {

using namespace hapax::model;

// Persisted; never renumber.
enum class LiveState : std::uint8_t { ready = 0, running = 1, delayed = 2, parked = 3 };

// A row of `live`. Text fields are views into the statement that read the row: valid until that statement is reset.
struct LiveRow {
  Uuid id;
  std::int64_t queue_id = 0;
  std::int64_t line = 0;  // written, never read
  LiveState state = LiveState::ready;
  int priority = 0;
  Time run_at{};
  int lost = 0;
  std::int64_t fence = 0;
  int attempt = 0;
  std::optional<Uuid> session;
  std::int64_t claim_number = 0;
  std::optional<Time> claimed_at;
  bool cancel_requested = false;
  std::optional<int> finish_kind;
  std::optional<Time> deadline;
  std::string_view task;
  Kind kind = Kind::task;
  Time created_at{};
  int max_attempts = 0;
  int max_lost = 0;
  int run = 1;
  std::optional<Duration> attempt_timeout;
  std::optional<std::string_view> retry;
  std::optional<base::Digest> identity;
  std::optional<std::string_view> identity_key;
  std::optional<std::string_view> effect_key;
  std::optional<Uuid> parent;
  std::optional<std::string_view> labels;
  std::optional<std::string_view> cancel_reason;
  std::optional<double> progress;
  std::string_view progress_message;
  std::string_view input;
  std::optional<std::string_view> limit_key;
  std::optional<int> weight;
  bool counted = false;
  bool superseded = false;
  std::int64_t inbox = 0;
  std::optional<int> waited;
  std::string_view stuck;

  [[nodiscard]] Status status() const { return state == LiveState::running ? Status::running : Status::pending; }
  [[nodiscard]] bool is_workflow() const { return kind == Kind::workflow; }
  [[nodiscard]] bool is_guard() const { return kind == Kind::guard; }
  // Whether the execution ends as cancelled when it stops running without an end: its cancellation was requested, or a
  // newer request overtook it. A workflow ends by itself.
  [[nodiscard]] bool to_be_cancelled() const { return (cancel_requested || cancel_reason) && !is_workflow(); }
};

// The columns that `history` has beside those copied from `live`. Text as in LiveRow.
struct EndedRow {
  Time expires_at{};
  Status status = Status::completed;
  std::optional<int> finish_kind;
  bool dead = false;
  bool superseded = false;
  std::optional<Uuid> session;
  std::optional<Time> started_at;
  Time finished_at{};
  std::optional<std::string_view> worker;
  std::optional<std::string_view> error;
  std::optional<std::string_view> result;
  std::optional<Uuid> retried_as;
  std::optional<std::string_view> note;
  std::optional<int> stub;
  std::optional<Uuid> continued_as;
};

namespace columns {

// ---- How a value of the model is stored, and read back ------------------------------------------------------------
struct Plain {
  template <class Value>
  static const Value& put(const Value& value) {
    return value;
  }
  template <class Value>
  static const Value& get(const Value& value) {
    return value;
  }
};
struct Text : Plain {
  static std::string get(std::string_view text) { return std::string(text); }
};
struct OptionalText : Plain {
  static std::optional<std::string> get(const std::optional<std::string_view>& text) {
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
};
struct TextOrEmpty : Plain {
  static std::string get(const std::optional<std::string_view>& text) { return std::string(text.value_or("")); }
};
struct IdentityHash : Plain {
  static const base::Digest* put(const std::optional<IdentityClaim>& identity) {
    return identity ? &identity->hash : nullptr;
  }
};
struct RetryText {
  static std::optional<std::string> put(const std::optional<RetryPolicy>& retry) {
    return retry ? std::optional(encode_retry(*retry)) : std::nullopt;
  }
  static std::optional<RetryPolicy> get(const std::optional<std::string_view>& text) {
    return text ? std::optional(decode_retry(*text)) : std::nullopt;
  }
};
struct LabelsText {
  static std::optional<std::string> put(const Labels& labels) { return encode_labels(labels); }
  static Labels get(const std::optional<std::string_view>& text) { return text ? decode_labels(*text) : Labels{}; }
};
struct LimitKeyText {
  static std::optional<std::string> put(const std::optional<LimitKey>& key) {
    return key ? std::optional(encode_limit_key(*key)) : std::nullopt;
  }
  static std::optional<LimitKey> get(const std::optional<std::string_view>& text) {
    return text ? std::optional(decode_limit_key(*text)) : std::nullopt;
  }
};
// NULL: 1, as almost all rows have.
struct Weight {
  static std::optional<int> put(int weight) { return weight == 1 ? std::nullopt : std::optional(weight); }
  static int get(const std::optional<int>& weight) { return weight.value_or(1); }
};
struct ErrorText : Plain {
  static std::optional<ErrorInfo> get(const std::optional<std::string_view>& text) {
    return text ? std::optional(decode_error(*text)) : std::nullopt;
  }
};

// ---- The table ----------------------------------------------------------------------------------------------------
// Flags of a column: how the statements treat the column.
inline constexpr unsigned inserted = 1;    // an admission writes it; other columns begin as NULL
inline constexpr unsigned row_by_row = 2;  // in an INSERT of many rows, each row has a value of its own
inline constexpr unsigned copied = 4;      // history has the column too, and gets the value
inline constexpr unsigned kept = 8;        // the new run of a retry takes the value over
inline constexpr unsigned unread = 16;     // no read of a live row needs it
inline constexpr unsigned shown = 32;      // Execution has it
inline constexpr unsigned claimed = 64;    // Claim has it

struct None {};
template <class Member>
inline constexpr bool is_member = !std::is_same_v<Member, None>;

// `raw` is the member of LiveRow or EndedRow. The other three are members of the model's values, or None: of the request
// (NewExecution) that the inserted value comes from, of Execution, and of Claim.
template <unsigned UsedAs, class Codec_, class Row, class Raw_, class InRequest, class InExecution, class InClaim>
struct Column {
  static constexpr unsigned use = UsedAs | (is_member<InExecution> ? shown : 0) | (is_member<InClaim> ? claimed : 0);
  using Codec = Codec_;
  using Raw = Raw_;
  static constexpr bool is_requested = is_member<InRequest>;

  const char* name;
  Raw Row::*raw;
  InRequest request;
  InExecution execution;
  InClaim claim;
};

template <unsigned use, class Codec = Plain, class Row, class Raw, class Request = None, class Show = None,
          class Give = None>
constexpr auto column(const char* name, Raw Row::*raw, Request request = {}, Show execution = {}, Give claim = {}) {
  return Column<use, Codec, Row, Raw, Request, Show, Give>{name, raw, request, execution, claim};
}

inline constexpr None none{};
inline constexpr unsigned own = inserted | row_by_row | copied;  // of each row
inline constexpr unsigned given = inserted | copied;

// clang-format off
inline constexpr auto live_columns = std::tuple{
    column<own>("id", &LiveRow::id, &NewExecution::id, &Execution::id, &Claim::id),
    column<own>("queue_id", &LiveRow::queue_id),
    column<inserted | row_by_row | unread>("line", &LiveRow::line),
    column<inserted>("state", &LiveRow::state),
    column<given | kept>("priority", &LiveRow::priority, &NewExecution::priority, &Execution::priority, &Claim::priority),
    column<given>("run_at", &LiveRow::run_at, none, &Execution::run_at, &Claim::due_at),
    column<given>("lost", &LiveRow::lost, none, &Execution::lost, &Claim::lost),
    column<given>("fence", &LiveRow::fence, none, &Execution::fence, &Claim::fence),
    column<given>("attempt", &LiveRow::attempt, none, &Execution::attempt, &Claim::attempt),
    column<inserted>("session", &LiveRow::session, none, &Execution::session),
    column<inserted | row_by_row>("claim_number", &LiveRow::claim_number),
    column<inserted>("claimed_at", &LiveRow::claimed_at, none, &Execution::started_at),
    column<inserted>("cancel_requested", &LiveRow::cancel_requested, none, &Execution::cancel_requested),
    column<0>("finish_kind", &LiveRow::finish_kind),
    column<given>("deadline", &LiveRow::deadline, none, &Execution::deadline, &Claim::deadline),
    column<own | kept, Text>("task", &LiveRow::task, &NewExecution::task, &Execution::task, &Claim::task),
    column<given | kept>("kind", &LiveRow::kind, &NewExecution::kind, &Execution::kind, &Claim::kind),
    column<given>("created_at", &LiveRow::created_at, none, &Execution::created_at, &Claim::created_at),
    column<given | kept>("max_attempts", &LiveRow::max_attempts, &NewExecution::max_attempts, &Execution::max_attempts, &Claim::max_attempts),
    column<given | kept>("max_lost", &LiveRow::max_lost, &NewExecution::max_lost, &Execution::max_lost, &Claim::max_lost),
    column<given>("run", &LiveRow::run, none, &Execution::run, &Claim::run),
    column<given | kept>("attempt_timeout", &LiveRow::attempt_timeout, &NewExecution::attempt_timeout, &Execution::attempt_timeout, &Claim::attempt_timeout),
    column<given | kept, RetryText>("retry", &LiveRow::retry, &NewExecution::retry, &Execution::retry, &Claim::retry),
    column<own, IdentityHash>("identity", &LiveRow::identity, &NewExecution::identity, &Execution::identity, &Claim::identity),
    column<own, TextOrEmpty>("identity_key", &LiveRow::identity_key, none, &Execution::identity_key),
    column<given, OptionalText>("effect_key", &LiveRow::effect_key, &NewExecution::effect_key, none, &Claim::effect_key),
    column<own | kept>("parent", &LiveRow::parent, &NewExecution::parent, &Execution::parent, &Claim::parent),
    column<own | kept, LabelsText>("labels", &LiveRow::labels, &NewExecution::labels, &Execution::labels, &Claim::labels),
    column<0>("cancel_reason", &LiveRow::cancel_reason),
    column<0>("progress", &LiveRow::progress, none, &Execution::progress),
    column<0, Text>("progress_message", &LiveRow::progress_message, none, &Execution::progress_message),
    column<own | kept, Text>("input", &LiveRow::input, &NewExecution::input, &Execution::input, &Claim::input),
    column<given | kept, LimitKeyText>("limit_key", &LiveRow::limit_key, &NewExecution::limit_key, &Execution::limit_key),
    column<given | kept, Weight>("weight", &LiveRow::weight, &NewExecution::weight, &Execution::weight),
    column<0>("counted", &LiveRow::counted),
    column<0>("superseded", &LiveRow::superseded),
    column<0>("inbox", &LiveRow::inbox, none, none, &Claim::inbox),
    column<inserted>("waited", &LiveRow::waited),
    column<0, Text>("stuck", &LiveRow::stuck, none, &Execution::stuck)};

inline constexpr auto ended_columns = std::tuple{
    column<0>("expires_at", &EndedRow::expires_at, none, &Execution::expires_at),
    column<0>("status", &EndedRow::status, none, &Execution::status),
    column<0>("finish_kind", &EndedRow::finish_kind),
    column<0>("dead", &EndedRow::dead, none, &Execution::dead),
    column<0>("superseded", &EndedRow::superseded),
    column<0>("session", &EndedRow::session, none, &Execution::session),
    column<0>("started_at", &EndedRow::started_at, none, &Execution::started_at),
    column<0>("finished_at", &EndedRow::finished_at, none, &Execution::finished_at),
    column<0, TextOrEmpty>("worker", &EndedRow::worker, none, &Execution::worker),
    column<0, ErrorText>("error", &EndedRow::error, none, &Execution::error),
    column<0, OptionalText>("result", &EndedRow::result, none, &Execution::result),
    column<0>("retried_as", &EndedRow::retried_as, none, &Execution::retried_as),
    column<0, TextOrEmpty>("note", &EndedRow::note, none, &Execution::note),
    column<0>("stub", &EndedRow::stub),
    column<0>("continued_as", &EndedRow::continued_as, none, &Execution::continued_as)};
// clang-format on

// ---- Statements from the table --------------------------------------------------------------------------------------
// The columns of a table that have all of `wanted` and nothing of `unwanted` among their uses.
template <unsigned wanted, unsigned unwanted = 0, class... Columns>
constexpr auto columns_used_as(const std::tuple<Columns...>& columns) {
  const auto pick = [](const auto& one) {
    constexpr unsigned use = std::remove_cvref_t<decltype(one)>::use;
    if constexpr ((use & wanted) == wanted && (use & unwanted) == 0) {
      return std::tuple{one};
    } else {
      return std::tuple{};
    }
  };
  return std::apply([&](const auto&... one) { return std::tuple_cat(pick(one)...); }, columns);
}
inline constexpr auto inserted_columns = columns_used_as<inserted>(live_columns);
inline constexpr auto shared_columns = columns_used_as<inserted, row_by_row>(live_columns);
inline constexpr auto own_columns = columns_used_as<inserted | row_by_row>(live_columns);
inline constexpr auto read_columns = columns_used_as<0, unread>(live_columns);
inline constexpr auto copied_columns = columns_used_as<copied>(live_columns);
inline constexpr auto claim_columns = columns_used_as<claimed>(live_columns);
// The columns that an Execution shows: those that live and history share, and those that one of them has alone.
inline constexpr auto shown_in_both = columns_used_as<shown | copied>(live_columns);
inline constexpr auto shown_in_live = columns_used_as<shown, copied>(live_columns);
inline constexpr auto shown_in_history = columns_used_as<shown>(ended_columns);
inline constexpr auto kept_columns = columns_used_as<kept>(live_columns);

template <class... Columns>
constexpr int size(const std::tuple<Columns...>& /*columns*/) {
  return static_cast<int>(sizeof...(Columns));
}

// "live.id, live.queue_id, …" for the prefix "live.".
template <class... Columns>
std::string names(const std::tuple<Columns...>& columns, std::string_view prefix = "") {
  std::string text;
  const auto add = [&](const char* name) { text.append(text.empty() ? "" : ", ").append(prefix).append(name); };
  std::apply([&](const auto&... one) { (add(one.name), ...); }, columns);
  return text;
}

// Which of the columns it is, counted from 0.
template <class... Columns>
consteval int index_of(const std::tuple<Columns...>& columns, std::string_view name) {
  int index = -1;
  int next = 0;
  const auto look = [&](std::string_view one) {
    if (one == name) { index = next; }
    ++next;
  };
  std::apply([&](const auto&... one) { (look(one.name), ...); }, columns);
  return index;
}

// The text, kept until the program ends: connections know prepared statements by the address of their text.
[[nodiscard]] inline const char* kept_text(const std::string& text) {
  return std::strcpy(new char[text.size() + 1], text.c_str());
}

// The values of a new row: those of the request, and the others from `placed`. Encoded values belong to the tuple, all
// others stay where they are.
template <class... Columns>
auto new_values(const std::tuple<Columns...>& columns, const NewExecution& item, const LiveRow& placed) {
  const auto value = [&](const auto& one) -> decltype(auto) {
    using One = std::remove_cvref_t<decltype(one)>;
    if constexpr (One::is_requested) {
      return One::Codec::put(item.*(one.request));
    } else {
      return Plain::put(placed.*(one.raw));
    }
  };
  return std::apply([&](const auto&... one) { return std::tuple<decltype(value(one))...>(value(one)...); }, columns);
}

template <class Raw>
Raw read_value(const Cursor& cursor, int index) {
  if constexpr (std::is_same_v<Raw, Uuid>) {
    return cursor.uuid(index);
  } else if constexpr (std::is_same_v<Raw, base::Digest>) {
    return cursor.digest(index);
  } else if constexpr (std::is_same_v<Raw, Time>) {
    return cursor.time(index);
  } else if constexpr (std::is_same_v<Raw, Duration>) {
    return cursor.duration(index);
  } else if constexpr (std::is_same_v<Raw, std::string_view>) {
    return cursor.text(index);
  } else if constexpr (std::is_same_v<Raw, double>) {
    return cursor.real(index);
  } else if constexpr (std::is_same_v<Raw, bool>) {
    return cursor.flag(index);
  } else if constexpr (std::is_same_v<Raw, std::int64_t>) {
    return cursor.integer(index);
  } else if constexpr (std::is_same_v<Raw, int> || std::is_enum_v<Raw>) {
    return static_cast<Raw>(cursor.small(index));
  } else {
    return cursor.is_null(index) ? Raw() : Raw(read_value<typename Raw::value_type>(cursor, index));
  }
}

// Calls `take(column, value)` for each of the columns, which begin at `index` of the cursor's row; returns the index
// after them.
template <class... Columns, class Take>
int read_columns_at(const std::tuple<Columns...>& columns, const Cursor& cursor, int index, const Take& take) {
  const auto read = [&](const auto& one) {
    take(one, read_value<typename std::remove_cvref_t<decltype(one)>::Raw>(cursor, index));
    ++index;
  };
  std::apply([&](const auto&... one) { (read(one), ...); }, columns);
  return index;
}

}  // namespace columns

// ---- Rows as Execution values, for the reading verbs ------------------------------------------------------------------
// The columns that read_live_execution and read_ended_execution expect, in order; the id is the first one. The
// statement joins `queues` and, for live rows, `sessions`.
[[nodiscard]] const std::string& live_execution_columns();
[[nodiscard]] const std::string& ended_execution_columns();

// "SELECT columns FROM tables" for one row by its id: an ended row has the parameters id and now.
[[nodiscard]] const char* live_execution_sql();
[[nodiscard]] const char* ended_execution_sql();

[[nodiscard]] Execution read_live_execution(const Cursor& cursor);
[[nodiscard]] Execution read_ended_execution(const Cursor& cursor);

}  // namespace hapax::store::sqlite
