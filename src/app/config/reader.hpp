// Reader: reads the tree of a TOML file into a Config and notes every problem with its line.
//
// Made for one file and used once, on one thread. An invalid section does not stop the others from being read.
#pragma once

#include "app/config/config.hpp"
#include "app/config/toml.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::config {

class Reader {
 public:
  Reader(std::string path, Reading& reading) : path_(std::move(path)), reading_(reading) {}

  void read(const Node& root);

 private:
  void read_section(const Node& section);
  void read_named(std::string_view section, const Node& table);
  void read_queue(const Node& table);
  void read_queue_value(model::QueuePatch& patch, const Node& value, const std::string& where);
  void read_burst(model::QueuePatch& patch, const Node& table, const std::string& where);
  void read_task(const Node& table);
  [[nodiscard]] bool read_task_member(const Node& member, const std::string& where);
  void read_activity(const Node& table);
  void state_activity(const Node& node, const std::string& where);

  // Notes a problem and returns false unless the node is a table whose name is valid for a queue or task.
  [[nodiscard]] bool is_named_table(const Node& node, const std::string& where, std::string_view example);
  void refuse_unknown(const Node& node, const std::string& where, const std::vector<std::string>& known);
  void state(const Node& node, const std::string& key, const std::string& value);
  // `message` is what() of an InvalidArgument and begins with the field's name.
  void add_problem(const Node& node, const std::string& key, const std::string& message);
  [[nodiscard]] std::string source(const Node& node) const { return path_ + ":" + std::to_string(node.line); }

  std::string path_;
  Reading& reading_;
};

// The path of a key: "queues.payments", or queues."a.b" for a name that TOML must quote.
[[nodiscard]] std::string key_path(std::string_view section, std::string_view name);

// The first value inside `node` that JSON cannot express; null: there is none. Dates count as such values, or as their
// text with Dates::as_text.
enum class Dates : std::uint8_t { foreign, as_text };
[[nodiscard]] const Node* find_foreign(const Node& node, Dates dates);
[[nodiscard]] std::string json_text_of(const Node& node);

// A setting with one value, from the file or an environment variable.
struct ScalarKey {
  std::string_view key;       // "worker.lease"
  std::string_view variable;  // "HAPAX_WORKER_LEASE"
  Node::Kind kind;            // text, integer or boolean
  std::string_view example;
  // Throws InvalidArgument naming `field`.
  void (*set)(Config&, std::string_view text, const std::string& field);
};
[[nodiscard]] std::span<const ScalarKey> scalar_keys();

// The steps of reading: the file's text, the variables that override it, the checks that need both, and the order of
// the result.
void read_toml(Reading& reading, std::string_view text);
void read_environment(Reading& reading, const Environment& environment);
void check_together(Reading& reading);
void sort_by_line(Reading& reading);

}  // namespace hapax::config
