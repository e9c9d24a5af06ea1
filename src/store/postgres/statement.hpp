// Parameters of a statement in PostgreSQL's binary format, and arrays for unnest().
//
// Binary spares both sides the formatting: a uuid is 16 bytes, a bytea is sent as it is. Each Params owns its values
// and belongs to one statement.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

// Object ids of the built-in types, which PostgreSQL never changes.
enum class Type : unsigned {
  boolean = 16,
  bytea = 17,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  float8 = 701,
  uuid = 2950,
};

// The type's name in SQL.
[[nodiscard]] std::string_view name_of(Type type);

// Append the big-endian bytes of an integer to `out`.
void put_int16(std::string& out, std::int16_t value);
void put_int32(std::string& out, std::int32_t value);
void put_int64(std::string& out, std::int64_t value);

// A one-dimensional array parameter, built element by element.
class Array {
 public:
  explicit Array(Type element, std::size_t expected = 8);

  void null();
  void boolean(bool value);
  void int2(int value);
  void int4(std::int32_t value);
  void int8(std::int64_t value);
  void float8(double value);
  void uuid(const Uuid& value);
  // For text and bytea.
  void bytes(std::string_view value);
  void digest(const base::Digest& value);
  void optional_bytes(const std::optional<std::string>& value);
  void optional_int8(const std::optional<std::int64_t>& value);
  void optional_uuid(const std::optional<Uuid>& value);

  [[nodiscard]] Type element() const { return element_; }
  // The finished parameter. The array is empty afterwards.
  [[nodiscard]] std::string take();
  // The elements one after the other, each with its length: a row of COPY has its fields in the same form.
  [[nodiscard]] std::string_view elements() const;
  void clear();

 private:
  // The buffer for the next element.
  std::string& next();

  Type element_;
  std::size_t expected_;
  std::int32_t count_ = 0;
  bool has_null_ = false;
  std::string data_;
};

[[nodiscard]] Array uuid_array(std::span<const Uuid> ids);

class Params {
 public:
  Params& null(Type type);
  Params& boolean(bool value);
  Params& int2(int value);
  Params& int4(std::int32_t value);
  Params& int8(std::int64_t value);
  Params& float8(double value);
  Params& uuid(const Uuid& value);
  Params& text(std::string_view value);
  Params& bytea(std::string_view value);
  Params& digest(const base::Digest& value);
  Params& array(Array&& array);
  Params& arrays(std::initializer_list<Array*> arrays);
  // The array's only element, not in an array.
  Params& value(Array&& array);

  // The arrays that libpq takes. Valid until the next change.
  struct Raw {
    int count = 0;
    const unsigned* types = nullptr;
    const char* const* values = nullptr;
    const int* lengths = nullptr;
    const int* formats = nullptr;
  };
  [[nodiscard]] Raw raw() const;

 private:
  Params& add(unsigned type, std::string value);

  std::vector<unsigned> types_;
  std::vector<std::optional<std::string>> values_;
  mutable std::vector<const char*> pointers_;
  mutable std::vector<int> lengths_;
  mutable std::vector<int> formats_;
};

// Statement: SQL with a name under which a connection prepares it.
//
// Texts write {s} for the schema, so that nothing relies on search_path, {now} for the server's clock in whole
// microseconds and {next} for the next number in the order of limit keys. Statements are constants of the files that
// use them; a connection identifies them by address.
struct Statement {
  const char* name;
  const char* text;
};

// A statement with its parameters, one step of a pipeline.
struct Call {
  const Statement* statement;
  Params params;
};

// Keeps a text that is composed once. Never destroyed: a thread that outlives main, such as one with a stuck handler,
// may use the store while the process ends. Any thread may call it.
[[nodiscard]] const std::string& keep_text(std::string text);

// A statement whose text is composed once, and which is never destroyed either.
[[nodiscard]] inline const Statement& made_statement(const char* name, std::string text) {
  return *new Statement{name, keep_text(std::move(text)).c_str()};
}

// `text` with each mark replaced wherever it stands, one mark after the other.
[[nodiscard]] std::string fill(std::string_view text,
                               std::initializer_list<std::pair<std::string_view, std::string_view>> marks);

// `text` with {s}, {now} and {next} filled in.
[[nodiscard]] std::string expand(std::string_view text, const std::string& quoted_schema);

}  // namespace hapax::store::postgres
