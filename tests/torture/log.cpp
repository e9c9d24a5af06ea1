#include "torture/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace hapax::torture {
namespace {

std::string path_of(const std::string& folder, const std::string& role, int number) {
  return folder + "/" + role + "-" + std::to_string(number) + ".log";
}

}  // namespace

Log::Log(const std::string& folder, const std::string& role, int number) {
  const std::string path = path_of(folder, role, number);
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

Log::~Log() { ::close(file_); }

void Log::append(std::string& line) {
  line += '\n';
  const auto written = ::write(file_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) throw std::system_error(errno, std::generic_category(), "log");
}

Uuid Record::id() const {
  const auto parsed = words.empty() ? std::nullopt : Uuid::parse(words[0]);
  if (!parsed) throw std::runtime_error("a log record without an id");
  return *parsed;
}

std::int64_t Record::fence() const {
  std::int64_t value = 0;
  if (words.size() < 2) throw std::runtime_error("a log record without a fence");
  std::from_chars(words[1].data(), words[1].data() + words[1].size(), value);
  return value;
}

namespace {

void read_file(const std::filesystem::path& path, int child, std::vector<Record>& records) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    std::istringstream line(text.substr(begin, end - begin));
    Record record;
    record.child = child;
    std::string word;
    line >> word;
    if (word.size() != 1) throw std::runtime_error(path.string() + ": a line that is no record");
    record.event = static_cast<Event>(word[0]);
    while (line >> word) record.words.push_back(word);
    records.push_back(std::move(record));
  }
}

}  // namespace

std::vector<Record> read_log(const std::string& folder, const std::string& role, int number) {
  std::vector<Record> records;
  read_file(path_of(folder, role, number), number, records);
  return records;
}

std::vector<Record> read_logs(const std::string& folder) {
  std::vector<Record> records;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".log") continue;
    const std::string stem = entry.path().stem().string();
    const auto dash = stem.rfind('-');
    int child = 0;
    std::from_chars(stem.data() + dash + 1, stem.data() + stem.size(), child);
    read_file(entry.path(), child, records);
  }
  return records;
}

}  // namespace hapax::torture
