#include "schedule/template.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/json_pointer.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <optional>

namespace hapax::schedule {

namespace {

struct Name {
  std::string_view text;
  Place place;
  std::optional<TriggerKind> only;  // only valid with this trigger; none: with both
  bool has_parts = false;           // a JSON Pointer may follow
};

constexpr std::array<Name, place_count> names = {{
    {"activity.id", Place::activity_id, std::nullopt},
    {"activity.name", Place::activity_name, std::nullopt},
    {"run_id", Place::run_id, std::nullopt},
    {"scheduled_for", Place::scheduled_for, TriggerKind::cron},
    {"window", Place::window, TriggerKind::cron, true},
    {"last_result", Place::last_result, TriggerKind::cron, true},
    {"event", Place::event, TriggerKind::event, true},
    {"event.id", Place::event_id, TriggerKind::event},
    {"event.source", Place::event_source, TriggerKind::event},
    {"event.type", Place::event_type, TriggerKind::event},
    {"event.subject", Place::event_subject, TriggerKind::event},
    {"event.time", Place::event_time, TriggerKind::event},
    {"event.data", Place::event_data, TriggerKind::event, true},
}};

constexpr std::string_view open = "{{";
constexpr std::string_view close = "}}";

// Bounds a run's cost: each place is a lookup in the event.
constexpr std::size_t most_places = 256;

[[noreturn]] void refuse(std::string_view field, std::string_view place, const std::string& problem) {
  throw InvalidArgument(std::string(field), "has the place {{" + base::echo(place) + "}}, " + problem);
}

std::string_view template_trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) { return {}; }
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

const Name& find_name(std::string_view text, TriggerKind kind, std::string_view field) {
  std::vector<std::string_view> known;
  for (const Name& name : names) {
    const bool usable = !name.only || *name.only == kind;
    if (usable) { known.push_back(name.text); }
    if (name.text != text) { continue; }
    if (!usable) {
      refuse(field, text,
             std::string("which an activity with ") + (kind == TriggerKind::cron ? "a cron" : "an event") +
                 " trigger does not have");
    }
    return name;
  }
  refuse(field, text, "which is unknown" + base::suggestion(text, known));
}

// The position of a string literal's closing quote; `at` is just after the opening one.
std::size_t literal_end(std::string_view json, std::size_t at) {
  while (json[at] != '"') { at += json[at] == '\\' ? 2 : 1; }
  return at;
}

void append_text(std::string& out, std::string_view value) {
  if (value == "null") { return; }
  if (value.front() == '"') {
    out += value.substr(1, value.size() - 2);
    return;
  }
  std::string quoted;
  base::append_json_quoted(quoted, base::canonical_json(value));
  out += std::string_view(quoted).substr(1, quoted.size() - 2);
}

}  // namespace

std::size_t json_depth_of(std::string_view checked) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  for (std::size_t at = 0; at < checked.size(); ++at) {
    switch (checked[at]) {
      case '"': at = literal_end(checked, at + 1); break;
      case '{':
      case '[': deepest = std::max(deepest, ++depth); break;
      case '}':
      case ']': --depth; break;
      default: break;
    }
  }
  return deepest;
}

Template::Template(std::string_view json, TriggerKind kind, std::string_view field)
    : json_(base::canonical_json(json, field)) {
  if (json_depth_of(json_) > limits::template_depth) {
    throw InvalidArgument(std::string(field), "has more than " + std::to_string(limits::template_depth) +
                                                  " objects and lists inside each other; expected a flatter value");
  }
  std::size_t done = 0;
  for (std::size_t at = 0; at < json_.size(); ++at) {
    if (json_[at] != '"') { continue; }
    const std::size_t end = literal_end(json_, at + 1);
    const bool is_name = end + 1 < json_.size() && json_[end + 1] == ':';
    const std::string_view inside = std::string_view(json_).substr(at + 1, end - at - 1);
    if (!is_name && inside.find(open) != std::string_view::npos) {
      add_literal(std::string_view(json_).substr(done, at - done));
      read_text(inside, kind, field);
      done = end + 1;
    }
    at = end;
  }
  add_literal(std::string_view(json_).substr(done));
  const auto places = std::count_if(pieces_.begin(), pieces_.end(),
                                    [](const Piece& piece) { return piece.kind != Piece::Kind::literal; });
  if (static_cast<std::size_t>(places) > most_places) {
    throw InvalidArgument(std::string(field),
                          "has " + std::to_string(places) + " places; expected at most " + std::to_string(most_places));
  }
}

void Template::read_text(std::string_view inside, TriggerKind kind, std::string_view field) {
  std::vector<Piece> parts;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) { parts.push_back({.kind = Piece::Kind::literal, .text = std::move(literal)}); }
    literal.clear();
  };
  while (!inside.empty()) {
    const std::size_t begin = std::min(inside.find(open), inside.size());
    literal += inside.substr(0, begin);
    inside.remove_prefix(begin);
    if (inside.empty()) { break; }
    inside.remove_prefix(open.size());
    if (inside.starts_with(open)) {
      literal += open;
      inside.remove_prefix(open.size());
      continue;
    }
    const std::size_t end = inside.find(close);
    if (end == std::string_view::npos) {
      refuse(field, inside, "which has no end; expected }} behind it (to write {{ itself, write {{{{)");
    }
    std::string content;
    base::append_json_unescaped(content, inside.substr(0, end));
    inside.remove_prefix(end + close.size());
    const std::string_view said = template_trimmed(content);
    const std::size_t slash = std::min(said.find('/'), said.size());
    const Name& name = find_name(said.substr(0, slash), kind, field);
    const std::string_view pointer = said.substr(slash);
    if (!pointer.empty() && !name.has_parts) { refuse(field, said, "but " + std::string(name.text) + " has no parts"); }
    base::check_json_pointer(pointer, field);
    flush();
    parts.push_back({.kind = Piece::Kind::text, .text = std::string(pointer), .place = name.place});
  }
  flush();
  if (parts.size() == 1 && parts.front().kind == Piece::Kind::text) {
    parts.front().kind = Piece::Kind::value;
    pieces_.push_back(std::move(parts.front()));
    return;
  }
  add_literal("\"");
  for (Piece& part : parts) {
    if (part.kind == Piece::Kind::literal) {
      add_literal(part.text);
    } else {
      pieces_.push_back(std::move(part));
    }
  }
  add_literal("\"");
}

void Template::add_literal(std::string_view bytes) {
  if (bytes.empty()) { return; }
  if (pieces_.empty() || pieces_.back().kind != Piece::Kind::literal) { pieces_.emplace_back(); }
  pieces_.back().text += bytes;
}

bool Template::uses(Place place) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [place](const Piece& piece) {
    return piece.kind != Piece::Kind::literal && piece.place == place;
  });
}

void Template::render(std::string& out, const PlaceValues& values) const {
  for (const Piece& piece : pieces_) {
    if (piece.kind == Piece::Kind::literal) {
      out += piece.text;
      continue;
    }
    const std::string_view whole = values[piece.place];
    const std::string_view value = whole.empty() ? "null" : base::find_json_pointer(whole, piece.text).value_or("null");
    if (piece.kind == Piece::Kind::value) {
      out += value;
    } else {
      append_text(out, value);
    }
    // Checked after each piece, as a short template may insert a whole event many times.
    if (out.size() > base::payload_limit()) { throw PayloadTooLarge("input", out.size(), base::payload_limit()); }
  }
}

}  // namespace hapax::schedule
