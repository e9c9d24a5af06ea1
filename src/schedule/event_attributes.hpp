// EventAttributes: checks the attributes of one event one by one and builds the event from them.
#pragma once

#include "schedule/event.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::schedule {

class EventAttributes {
 public:
  // A member of a structured event: checked JSON. Throws InvalidArgument naming the attribute.
  void set_json(std::string_view name, std::string_view json);
  // A header of a binary event.
  void set_text(std::string_view name, std::string text);
  // The body of a binary event.
  void set_body(std::string_view body);

  // Returns the event. Throws if an attribute is missing or if attributes contradict each other.
  [[nodiscard]] Event finish(MissingId missing_id);

 private:
  void count();  // counts one attribute; throws if there are too many
  void set_known(std::string_view name, std::string text);
  void set_extension(std::string_view name, std::string_view json);

  Event event_;
  std::size_t members_ = 0;
  bool has_specversion_ = false;
};

// The JSON data of a binary mode body: JSON as it is, text and XML in UTF-8 as a string. None: the body is opaque
// bytes. Throws for malformed JSON.
[[nodiscard]] std::optional<std::string> data_of_body(const std::optional<std::string>& datacontenttype,
                                                      std::string_view body);

}  // namespace hapax::schedule
