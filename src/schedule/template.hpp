// Template: the input of an activity's executions, with placeholders ("places") that are filled in for each run.
//
// A template is any JSON value. In its strings {{…}} is a place. Member names are not searched for places.
//   "{{scheduled_for}}"           a string that is only a place becomes the JSON value, of whatever type
//   "Orders of {{event.subject}}" a place in a longer string is replaced by text: a string's content, nothing for null,
//                                 and canonical JSON for any other value
//   "{{{{"                        stands for {{ itself
// A place contains one of these names; white space around the name is ignored:
//   activity.id  activity.name  run_id
//   scheduled_for  window  last_result               only with a cron trigger
//   event  event.id  event.source  event.type  event.subject  event.time  event.data     only with an event trigger
// A JSON Pointer may follow window, last_result, event and event.data: {{event.data/order/id}}, {{window/from}}. A
// missing value is null. An unknown place is an error when the template is parsed, so that no run fails because of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::schedule {

enum class Place : std::uint8_t {
  activity_id,
  activity_name,
  run_id,
  scheduled_for,
  window,
  last_result,
  event,
  event_id,
  event_source,
  event_type,
  event_subject,
  event_time,
  event_data,
};
inline constexpr std::size_t place_count = 13;

enum class TriggerKind : std::uint8_t { cron, event };

// The values of the places: checked JSON by Place; an empty view stands for null.
struct PlaceValues {
  std::array<std::string_view, place_count> json;
  std::string_view& operator[](Place place) { return json[static_cast<std::size_t>(place)]; }
  std::string_view operator[](Place place) const { return json[static_cast<std::size_t>(place)]; }
};

class Template {
 public:
  Template() : Template("null", TriggerKind::cron, "input") {}
  // Throws InvalidJson or InvalidArgument naming `field`.
  Template(std::string_view json, TriggerKind kind, std::string_view field);

  // The template itself, as canonical JSON.
  [[nodiscard]] const std::string& json() const { return json_; }
  [[nodiscard]] bool uses(Place place) const;

  // Appends the rendered JSON. Throws PayloadTooLarge if it exceeds the payload limit. Does not check the nesting
  // depth, which grows with the values.
  void render(std::string& out, const PlaceValues& values) const;

 private:
  struct Piece {
    enum class Kind : std::uint8_t { literal, value, text };
    Kind kind = Kind::literal;
    std::string text;  // of a literal: JSON bytes; otherwise a JSON Pointer
    Place place = Place::activity_id;
  };

  void read_text(std::string_view inside, TriggerKind kind, std::string_view field);
  void add_literal(std::string_view bytes);

  std::string json_;
  std::vector<Piece> pieces_;
};

// The nesting depth of arrays and objects in checked JSON.
[[nodiscard]] std::size_t json_depth_of(std::string_view checked);

}  // namespace hapax::schedule
