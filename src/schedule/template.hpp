// Template: the input of an activity's executions, with places that are filled in when it fires.
//
// A template is any JSON value. In its texts {{…}} is a place; names of members are taken as they are.
//   "{{scheduled_for}}"           a text that is nothing but a place becomes the JSON value, whatever its type
//   "Orders of {{event.subject}}" in a longer text the value's text goes in: a string's own, nothing for null, and
//                                 canonical JSON for everything else
//   "{{{{"                        stands for {{ itself
// What may stand in a place, white space around it aside:
//   activity.id  activity.name  run_id
//   scheduled_for  window  last_result               of an activity with a cron trigger
//   event  event.id  event.source  event.type  event.subject  event.time  event.data     with an event trigger
// and behind window, last_result, event and event.data a JSON Pointer: {{event.data/order/id}}, {{window/from}}. What is
// not there is null. An unknown place is an error when the template is read, so that nothing fails when it fires.
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

// What goes into the places: checked JSON by Place; an empty view stands for null.
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

  // Appends the input: JSON. May be deeper than hapax takes, if values are. Throws PayloadTooLarge where it is longer.
  void render(std::string& out, const PlaceValues& values) const;

 private:
  struct Piece {
    enum class Kind : std::uint8_t { literal, value, text };
    Kind kind = Kind::literal;
    std::string text;  // of a literal: bytes of JSON; otherwise a JSON Pointer
    Place place = Place::activity_id;
  };

  void read_text(std::string_view inside, TriggerKind kind, std::string_view field);
  void add_literal(std::string_view bytes);

  std::string json_;
  std::vector<Piece> pieces_;
};

// How many arrays and objects lie inside each other in checked JSON.
[[nodiscard]] std::size_t json_depth_of(std::string_view checked);

}  // namespace hapax::schedule
