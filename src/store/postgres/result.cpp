#include "store/postgres/result.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>

namespace hapax::store::postgres {

namespace {

template <class Unsigned>
Unsigned big_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned) && i < bytes.size(); ++i) {
    value = static_cast<Unsigned>(static_cast<Unsigned>(value << 8) | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

Uuid to_uuid(std::string_view bytes) {
  Uuid id;
  if (bytes.size() == id.bytes.size()) { std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size()); }
  return id;
}

// Elements of a one-dimensional array without NULLs.
template <class Read>
void read_array(std::string_view bytes, const Read& read) {
  if (bytes.size() < 20) { return; }
  const auto count = big_endian<std::uint32_t>(bytes.substr(12));
  std::size_t at = 20;
  for (std::uint32_t i = 0; i < count && at + 4 <= bytes.size(); ++i) {
    const auto length = big_endian<std::uint32_t>(bytes.substr(at));
    read(bytes.substr(at + 4, length));
    at += 4 + length;
  }
}

}  // namespace

std::int64_t Result::affected() const {
  const char* const text = PQcmdTuples(result_.get());
  return text == nullptr || *text == '\0' ? 0 : std::strtoll(text, nullptr, 10);
}

std::string_view RowReader::next() {
  const int column = column_++;
  return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

bool RowReader::boolean() {
  const std::string_view bytes = next();
  return !bytes.empty() && bytes[0] != '\0';
}

int RowReader::int2() { return static_cast<std::int16_t>(big_endian<std::uint16_t>(next())); }
std::int32_t RowReader::int4() { return static_cast<std::int32_t>(big_endian<std::uint32_t>(next())); }
std::int64_t RowReader::int8() { return static_cast<std::int64_t>(big_endian<std::uint64_t>(next())); }
double RowReader::float8() { return std::bit_cast<double>(big_endian<std::uint64_t>(next())); }
Uuid RowReader::uuid() { return to_uuid(next()); }

base::Digest RowReader::digest() {
  base::Digest digest{};
  const std::string_view bytes = next();
  if (bytes.size() == digest.size()) { std::memcpy(digest.data(), bytes.data(), digest.size()); }
  return digest;
}

std::string RowReader::bytes() { return std::string(next()); }
Time RowReader::time() { return Time(Duration(int8())); }

#define HAPAX_OPTIONAL(type, name, getter) \
  std::optional<type> RowReader::name() {  \
    if (is_null()) {                       \
      skip();                              \
      return std::nullopt;                 \
    }                                      \
    return getter;                         \
  }
HAPAX_OPTIONAL(std::int64_t, optional_int8, int8())
HAPAX_OPTIONAL(double, optional_float8, float8())
HAPAX_OPTIONAL(Uuid, optional_uuid, uuid())
HAPAX_OPTIONAL(base::Digest, optional_digest, digest())
HAPAX_OPTIONAL(std::string, optional_bytes, bytes())
HAPAX_OPTIONAL(Time, optional_time, time())
HAPAX_OPTIONAL(Duration, optional_duration, Duration(int8()))
#undef HAPAX_OPTIONAL

std::vector<Uuid> RowReader::uuids() {
  std::vector<Uuid> ids;
  read_array(next(), [&](std::string_view bytes) { ids.push_back(to_uuid(bytes)); });
  return ids;
}

std::vector<std::int32_t> RowReader::int4s() {
  std::vector<std::int32_t> values;
  read_array(next(), [&](std::string_view bytes) {
    values.push_back(static_cast<std::int32_t>(big_endian<std::uint32_t>(bytes)));
  });
  return values;
}

}  // namespace hapax::store::postgres
