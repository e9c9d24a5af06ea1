#include "store/postgres/statement.hpp"

#include <bit>
#include <deque>
#include <mutex>

namespace hapax::store::postgres {

namespace {

template <class Unsigned>
void write_big_endian(char* to, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
    to[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * (sizeof(Unsigned) - 1 - i))));
  }
}

template <class Unsigned>
void put_big_endian(std::string& out, Unsigned value) {
  char bytes[sizeof(Unsigned)];
  write_big_endian(bytes, value);
  out.append(bytes, sizeof(Unsigned));
}

// An element of an array: its length, then its bytes.
template <class Unsigned>
void put_element(std::string& out, Unsigned value) {
  char bytes[4 + sizeof(Unsigned)];
  write_big_endian(bytes, std::uint32_t{sizeof(Unsigned)});
  write_big_endian(bytes + 4, value);
  out.append(bytes, sizeof(bytes));
}

std::string_view view(const Uuid& id) { return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}; }

std::string_view view(const base::Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

unsigned array_type(Type element) {
  switch (element) {
    case Type::boolean: return 1000;
    case Type::bytea: return 1001;
    case Type::int8: return 1016;
    case Type::int2: return 1005;
    case Type::int4: return 1007;
    case Type::text: return 1009;
    case Type::float8: return 1022;
    case Type::uuid: return 2951;
  }
  return 0;
}

constexpr std::size_t length_bytes = 4;

std::string int64_bytes(std::int64_t value) {
  std::string out;
  put_int64(out, value);
  return out;
}

constexpr std::size_t array_header_bytes = 20;
constexpr std::size_t usual_parameters = 16;

}  // namespace

std::string_view name_of(Type type) {
  switch (type) {
    case Type::boolean: return "boolean";
    case Type::bytea: return "bytea";
    case Type::int8: return "bigint";
    case Type::int2: return "smallint";
    case Type::int4: return "int";
    case Type::text: return "text";
    case Type::float8: return "double precision";
    case Type::uuid: return "uuid";
  }
  return "";
}

void put_int16(std::string& out, std::int16_t value) { put_big_endian(out, static_cast<std::uint16_t>(value)); }
void put_int32(std::string& out, std::int32_t value) { put_big_endian(out, static_cast<std::uint32_t>(value)); }
void put_int64(std::string& out, std::int64_t value) { put_big_endian(out, static_cast<std::uint64_t>(value)); }

Array::Array(Type element, std::size_t expected) : element_(element), expected_(expected) {}

// Reserves memory with the first element, so an empty array has none.
std::string& Array::next() {
  if (count_++ == 0) {
    data_.reserve(array_header_bytes + expected_ * 20);
    data_.resize(array_header_bytes);
  }
  return data_;
}

void Array::null() {
  put_int32(next(), -1);
  has_null_ = true;
}

void Array::boolean(bool value) { bytes(std::string_view(value ? "\1" : "\0", 1)); }

void Array::int2(int value) { put_element(next(), static_cast<std::uint16_t>(value)); }

void Array::int4(std::int32_t value) { put_element(next(), static_cast<std::uint32_t>(value)); }

void Array::int8(std::int64_t value) { put_element(next(), static_cast<std::uint64_t>(value)); }

void Array::float8(double value) { int8(std::bit_cast<std::int64_t>(value)); }
void Array::uuid(const Uuid& value) { bytes(view(value)); }
void Array::digest(const base::Digest& value) { bytes(view(value)); }

void Array::bytes(std::string_view value) {
  std::string& data = next();
  put_int32(data, static_cast<std::int32_t>(value.size()));
  data.append(value);
}

void Array::optional_bytes(const std::optional<std::string>& value) { value ? bytes(*value) : null(); }
void Array::optional_int8(const std::optional<std::int64_t>& value) { value ? int8(*value) : null(); }
void Array::optional_uuid(const std::optional<Uuid>& value) { value ? uuid(*value) : null(); }

std::string Array::take() {
  if (count_ == 0) { data_.resize(12); }
  char* const header = data_.data();
  write_big_endian(header, std::uint32_t{count_ == 0 ? 0U : 1U});  // dimensions
  write_big_endian(header + 4, std::uint32_t{has_null_ ? 1U : 0U});
  write_big_endian(header + 8, static_cast<std::uint32_t>(element_));
  if (count_ > 0) {
    write_big_endian(header + 12, static_cast<std::uint32_t>(count_));
    write_big_endian(header + 16, std::uint32_t{1});  // lower bound
  }
  return std::move(data_);
}

std::string_view Array::elements() const {
  return count_ == 0 ? std::string_view() : std::string_view(data_).substr(array_header_bytes);
}

void Array::clear() {
  data_.clear();
  count_ = 0;
  has_null_ = false;
}

Array uuid_array(std::span<const Uuid> ids) {
  Array array(Type::uuid, ids.size());
  for (const Uuid& id : ids) { array.uuid(id); }
  return array;
}

Params& Params::add(unsigned type, std::string value) {
  if (types_.empty()) {
    types_.reserve(usual_parameters);
    values_.reserve(usual_parameters);
  }
  types_.push_back(type);
  values_.emplace_back(std::move(value));
  return *this;
}

Params& Params::null(Type type) {
  types_.push_back(static_cast<unsigned>(type));
  values_.emplace_back(std::nullopt);
  return *this;
}

Params& Params::boolean(bool value) {
  return add(static_cast<unsigned>(Type::boolean), std::string(1, value ? '\1' : '\0'));
}

Params& Params::int2(int value) {
  std::string out;
  put_int16(out, static_cast<std::int16_t>(value));
  return add(static_cast<unsigned>(Type::int2), std::move(out));
}

Params& Params::int4(std::int32_t value) {
  std::string out;
  put_int32(out, value);
  return add(static_cast<unsigned>(Type::int4), std::move(out));
}

Params& Params::int8(std::int64_t value) { return add(static_cast<unsigned>(Type::int8), int64_bytes(value)); }

Params& Params::float8(double value) {
  return add(static_cast<unsigned>(Type::float8), int64_bytes(std::bit_cast<std::int64_t>(value)));
}

Params& Params::uuid(const Uuid& value) { return add(static_cast<unsigned>(Type::uuid), std::string(view(value))); }
Params& Params::text(std::string_view value) { return add(static_cast<unsigned>(Type::text), std::string(value)); }
Params& Params::bytea(std::string_view value) { return add(static_cast<unsigned>(Type::bytea), std::string(value)); }
Params& Params::digest(const base::Digest& value) { return bytea(view(value)); }
Params& Params::array(Array&& array) { return add(array_type(array.element()), array.take()); }

Params& Params::arrays(std::initializer_list<Array*> arrays) {
  for (Array* one : arrays) { array(std::move(*one)); }
  return *this;
}

Params& Params::value(Array&& array) {
  const std::string_view element = array.elements();
  if (element.starts_with("\xff\xff\xff\xff")) { return null(array.element()); }
  return add(static_cast<unsigned>(array.element()), std::string(element.substr(length_bytes)));
}

Params::Raw Params::raw() const {
  pointers_.clear();
  pointers_.reserve(values_.size());
  lengths_.clear();
  lengths_.reserve(values_.size());
  for (const auto& value : values_) {
    pointers_.push_back(value ? value->data() : nullptr);
    lengths_.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  formats_.assign(values_.size(), 1);
  return {.count = static_cast<int>(values_.size()),
          .types = types_.data(),
          .values = pointers_.data(),
          .lengths = lengths_.data(),
          .formats = formats_.data()};
}

namespace {

// A string literal that names the sequence of limit keys.
std::string next_sequence(const std::string& quoted_schema) {
  std::string literal;
  for (const char c : quoted_schema) { literal += c == '\'' ? "''" : std::string(1, c); }
  return "nextval('" + literal + ".live_sequence'::regclass)";
}

}  // namespace

const std::string& keep_text(std::string text) {
  static auto& mutex = *new std::mutex();
  static auto& texts = *new std::deque<std::string>();
  const std::lock_guard lock(mutex);
  return texts.emplace_back(std::move(text));
}

std::string fill(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> marks) {
  std::string whole(text);
  for (const auto& [mark, by] : marks) {
    for (std::size_t at = whole.find(mark); at != std::string::npos; at = whole.find(mark, at + by.size())) {
      whole.replace(at, mark.size(), by);
    }
  }
  return whole;
}

std::string expand(std::string_view text, const std::string& quoted_schema) {
  static constexpr std::string_view schema_mark = "{s}";
  static constexpr std::string_view now_mark = "{now}";
  static constexpr std::string_view next_mark = "{next}";
  // clock_timestamp() advances while a transaction waits for a lock, as a lease does.
  static constexpr std::string_view now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
  std::string out;
  out.reserve(text.size() + 256);
  while (!text.empty()) {
    if (text.starts_with(schema_mark)) {
      out += quoted_schema;
      text.remove_prefix(schema_mark.size());
    } else if (text.starts_with(now_mark)) {
      out += now;
      text.remove_prefix(now_mark.size());
    } else if (text.starts_with(next_mark)) {
      out += next_sequence(quoted_schema);
      text.remove_prefix(next_mark.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace hapax::store::postgres
