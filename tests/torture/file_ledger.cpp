#include "torture/file_ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace hapax::torture {
namespace {

std::string path_of(const std::string& folder) { return folder + "/ledger"; }

int open_or_throw(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path);
  return file;
}

std::int64_t wall_clock_us() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()).time_since_epoch().count();
}

// The number of this call among the effect's calls in all processes: the first number whose file does not exist yet.
int take_number(const std::string& folder, const generated::EffectKey& key) {
  std::string stem = folder + "/calls/" + std::to_string(key.op) + "-";
  for (const char letter : key.actor) stem += letter == '/' ? '_' : letter;
  for (int number = 0;; ++number) {
    const int file =
        ::open((stem + "-" + std::to_string(number)).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0) {
      ::close(file);
      return number;
    }
    if (errno != EEXIST) throw std::system_error(errno, std::generic_category(), stem);
  }
}

Uuid uuid_of(const std::string& text) {
  const auto id = Uuid::parse(text);
  if (!id) throw std::runtime_error("the ledger has '" + text + "' as an id");
  return *id;
}

}  // namespace

FileLedger::FileLedger(const std::string& folder, int process)
    : folder_(folder), process_(std::to_string(process)), file_(open_or_throw(path_of(folder), O_WRONLY | O_APPEND)) {}

FileLedger::~FileLedger() { ::close(file_); }

void FileLedger::append(char kind, const std::string& words) const {
  const std::string whole =
      std::string(1, kind) + " " + process_ + " " + std::to_string(wall_clock_us()) + " " + words + "\n";
  if (::write(file_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    throw std::system_error(errno, std::generic_category(), "ledger");
  }
}

// Writes the line first. A process that is killed before it takes a number has made a call that later ones do not
// count.
int FileLedger::effect(const Effect& effect) {
  std::string words = effect.key.actor + " " + std::to_string(effect.key.op) + " " + effect.execution.to_string() +
                      " " + std::to_string(effect.acc);
  for (const std::string& seen : effect.seen) words += " " + seen;
  append('E', words);
  return take_number(folder_, effect.key);
}

void FileLedger::began(const std::string& actor, const Uuid& execution) {
  append('B', actor + " " + execution.to_string());
}

void FileLedger::struck(const std::string& actor, const generated::Strike& strike) {
  append('S', actor + " " + std::to_string(strike.op) + " " + std::to_string(strike.stage));
}

void FileLedger::patched(const std::string& actor, int op, bool patched) {
  append('P', actor + " " + std::to_string(op) + (patched ? " 1" : " 0"));
}

void FileLedger::entered(const std::string& actor, generated::Guard guard) {
  append('+', actor + " " + static_cast<char>(guard));
}

void FileLedger::left(const std::string& actor, generated::Guard guard) {
  append('-', actor + " " + static_cast<char>(guard));
}

void FileLedger::fault() { append('F', ""); }

void FileLedger::trouble() { append('T', ""); }

LedgerTail::LedgerTail(const std::string& folder) : file_(open_or_throw(path_of(folder), O_RDONLY)) {
  std::filesystem::create_directories(folder + "/calls");
}

LedgerTail::~LedgerTail() { ::close(file_); }

void LedgerTail::read_into(generated::MemoryLedger& ledger) {
  std::array<char, 64 << 10> buffer{};
  while (true) {
    const ssize_t got = ::read(file_, buffer.data(), buffer.size());
    if (got < 0) throw std::system_error(errno, std::generic_category(), "ledger");
    if (got == 0) return;
    rest_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      take(rest_.substr(begin, end - begin), ledger);
      begin = end + 1;
    }
    rest_.erase(0, begin);
  }
}

void LedgerTail::take(const std::string& line, generated::MemoryLedger& ledger) {
  std::istringstream words(line);
  std::string kind;
  int process = 0;
  std::int64_t time = 0;
  std::string actor;
  words >> kind >> process >> time >> actor;
  const Time at{Duration(time)};
  Time& last = last_seen_[process];  // two threads may append their lines in reverse order
  last = std::max(last, at);
  if (kind == "T") {
    fates_.troubled.insert(process);
  } else if (kind == "F") {
    fates_.losses.emplace(process, at);
  } else if (kind == "B") {
    std::string id;
    words >> id;
    ledger.began(actor, uuid_of(id));
    whereabouts_[actor] = {.process = process, .execution = uuid_of(id)};
  } else if (kind == "+" || kind == "-") {
    char guard = 0;
    words >> guard;
    // A process that has lost the run unwinds it later; its position no longer counts.
    Whereabouts& where = whereabouts_[actor];
    if (where.process != process) return;
    int& depth = guard == static_cast<char>(generated::Guard::handler) ? where.handlers : where.compensations;
    depth += kind == "+" ? 1 : -1;
  } else if (kind == "S") {
    generated::Strike strike;
    words >> strike.op >> strike.stage;
    ledger.struck(actor, strike);
  } else if (kind == "P") {
    int op = 0;
    bool patched = false;
    words >> op >> patched;
    ledger.patched(actor, op, patched);
  } else if (kind == "E") {
    generated::Call call;
    std::string id;
    words >> call.effect.key.op >> id >> call.effect.acc;
    call.effect.key.actor = actor;
    call.effect.execution = uuid_of(id);
    call.process = process;
    call.at = at;
    for (std::string seen; words >> seen;) call.effect.seen.push_back(seen);
    ledger.copy(std::move(call));
  } else {
    throw std::runtime_error("the ledger has a line that is none: " + line);
  }
}

}  // namespace hapax::torture
