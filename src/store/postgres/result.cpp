#include "store/postgres/result.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <array>
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

bool ends_connection(std::string_view sqlstate) {
  // Terminated by an administrator, crash of another backend, server shutting down or starting, connection failures.
  return sqlstate == "57P01" || sqlstate == "57P02" || sqlstate == "57P03" || sqlstate == "57P05" ||
         sqlstate.starts_with("08");
}

void throw_mapped(const SqlError& error, const std::string& location, Doing doing) {
  const std::string& state = error.sqlstate();
  const std::string message = location + ": " + error.what();
  if (state == "42P01" || state == "3F000" || state == "42703") {
    throw SchemaMismatch(message + "; the schema is missing or older than this build: run hapax migrate");
  }
  if (state == "55P03" || error.is_transient() || state == "57014") { throw StoreBusy(message); }
  // Stored text is valid, so an invalid text was a parameter, even in a statement that only reads.
  if (state == "22021" || state == "22P05") {
    throw InvalidArgument("text", "the database can't store it: " + std::string(error.what()));
  }
  const bool is_about_data =
      state.starts_with("22") || state.starts_with("23") || state.starts_with("54") || state.starts_with("P0");
  if (is_about_data && doing == Doing::reading) {
    throw StoreUnavailable(message + " (SQLSTATE " + state + ", about stored data; hapax doctor says more)");
  }
  // The request itself is at fault: a repetition would be refused too.
  if (is_about_data) { throw InvalidArgument("request", "the database refused it: " + std::string(error.what())); }
  static constexpr std::array<std::string_view, 9> unavailable{
      "53",     // out of disk, memory, connections
      "58",     // system errors, input and output
      "57P",    // shutting down, starting up
      "08",     // connection
      "25006",  // read-only transaction
      "28",     // authorization
      "3D000",  // no such database
      "42501",  // no privilege
      "XX",     // internal, corrupted
  };
  if (std::any_of(unavailable.begin(), unavailable.end(),
                  [&](std::string_view prefix) { return state.starts_with(prefix); })) {
    throw StoreUnavailable(message);
  }
  throw StoreUnavailable(message + " (SQLSTATE " + state + ")");
}

std::string one_line(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) { text.pop_back(); }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "no message from the server" : text;
}

}  // namespace hapax::store::postgres
