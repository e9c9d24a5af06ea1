#include "base/limits.hpp"
#include "cli/commands.hpp"
#include "cli/event_input.hpp"
#include "cli/event_sender.hpp"
#include "cli/line_reader.hpp"

namespace hapax::cli {
namespace {

constexpr const char* event_group_examples =
    "An event is a CloudEvents 1.0 envelope. Each activity that subscribes to an\n"
    "event starts one run for it, however often the event is sent.\n"
    "\n"
    "Examples:\n"
    "  hapax event send --source /shop --type order.created --data '{\"order\":456}'\n"
    "  hapax event send --bulk events.ndjson\n"
    "\n"
    "docs/schemas/event.schema.json describes the envelope.";

constexpr const char* send_examples =
    "EVENT is JSON, a file (@FILE or FILE), or - for standard input. A file has one\n"
    "event, a JSON list of at most 1,000 events, or one event per line (NDJSON).\n"
    "Lines are sent as they are read, 10,000 at a time (1,000 through a server). The\n"
    "first invalid line stops the command before the batch of that line is sent.\n"
    "Events sent before stay; sending the whole file again is safe.\n"
    "An event without an ID gets a hash of its source, type, subject and data as its\n"
    "ID. --require-id, or [events] require_event_id, refuses such events instead.\n"
    "With --json one line for each event: {\"line\"?,\"id\",\"source\",\"type\",\n"
    "\"runs\":[{\"activity\",\"run_id\",\"execution\",\"created\",\"error\"}],\"paused\"}; for\n"
    "several events, the last line is\n"
    "{\"events\",\"started\",\"duplicates\",\"unmatched\",\"dropped\",\"refused\"}.\n"
    "\n"
    "Examples:\n"
    "  hapax event send '{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/a\",\"type\":\"b\"}'\n"
    "  hapax event send order.json --require-id\n"
    "  zcat events.ndjson.gz | hapax event send -\n"
    "\n"
    "Exit codes: 0 sent, also without a subscriber; 3 some run could not be started;\n"
    "64, 65, 66, 75 as in `hapax --help`.";

// The most bytes of a JSON document over several lines: an event, or a list of events.
constexpr std::size_t document_bytes = 16 << 20;
constexpr std::string_view event_blanks = " \t\r\n";

struct EventOptions {
  std::optional<std::string> event;
  std::optional<std::string> bulk;
  EventParts parts;
  bool require_id = false;
};

void take_document(EventSender& sender, std::string_view text) {
  const std::size_t first = text.find_first_not_of(event_blanks);
  if (first != std::string_view::npos && text[first] == '[') {
    sender.take_list(text);
  } else {
    sender.take(text, 0);
  }
}

// Whether the line is a whole object; then the file has one event per line.
bool is_object_line(std::string_view line) {
  return line[line.find_first_not_of(event_blanks)] == '{' && line[line.find_last_not_of(event_blanks)] == '}';
}

bool is_blank(std::string_view line) { return line.find_first_not_of(event_blanks) == std::string_view::npos; }

void take_lines(EventSender& sender, LineReader& lines, std::string line) {
  do {
    if (is_blank(line)) { continue; }
    sender.take(line, lines.number());
    sender.show_progress(lines.fraction());
  } while (lines.next(line));
}

void take_rest_as_document(EventSender& sender, LineReader& lines, std::string text) {
  std::string line;
  while (lines.next(line)) {
    text += "\n" + line;
    if (text.size() > document_bytes) { throw PayloadTooLarge("event", text.size(), document_bytes); }
  }
  take_document(sender, text);
}

void take_file(EventSender& sender, const std::string& path, bool is_bulk) {
  LineReader lines(path);
  std::string line;
  while (lines.next(line)) {
    if (is_blank(line)) { continue; }
    if (is_bulk || is_object_line(line)) {
      take_lines(sender, lines, std::move(line));
    } else {
      take_rest_as_document(sender, lines, std::move(line));
    }
    return;
  }
  if (!is_bulk) { throw BadData("InvalidArgument", path + ": is empty; expected an event", "event"); }
}

int send(Shell& shell, const EventOptions& options) {
  const int ways = (options.event ? 1 : 0) + (options.bulk ? 1 : 0) + (options.parts.empty() ? 0 : 1);
  if (ways != 1) {
    throw BadUsage(ways == 0 ? "give an EVENT, --bulk FILE, or --source and --type; see hapax event send --help"
                             : "give one of EVENT, --bulk FILE, and --source with --type and the others");
  }
  const std::string made = options.parts.empty() ? "" : envelope_of(options.parts);
  shell.use_configuration();
  EventSender sender(shell, options.require_id);
  if (!options.parts.empty()) {
    sender.take(made, 0);
  } else if (options.bulk) {
    take_file(sender, *options.bulk, true);
  } else if (is_json_argument(*options.event)) {
    take_document(sender, *options.event);
  } else {
    take_file(sender, path_of_argument(*options.event), false);
  }
  return sender.finish(options.bulk.has_value());
}

}  // namespace

void add_event(Commands& commands) {
  CLI::App& group = commands.add({"event", "Send events", event_group_examples});
  const auto options = std::make_shared<EventOptions>();
  CLI::App& command = commands.add({"send", "Send one event, or many", send_examples}, &group);
  command.add_option("event", options->event, "Event: JSON, @FILE or - for standard input")->type_name("EVENT");
  command.add_option("--bulk", options->bulk, "Send one event per line of this file")->type_name("FILE|-");
  command.add_option("--id", options->parts.id, "ID of the event, unique within its source")->type_name("ID");
  command.add_option("--source", options->parts.source, "Source of the event: /shop")->type_name("URI");
  command.add_option("--type", options->parts.type, "Type of the event: order.created")->type_name("TYPE");
  command.add_option("--subject", options->parts.subject, "Subject of the event: orders/456")->type_name("TEXT");
  command.add_option("--data", options->parts.data, "Data: JSON, @FILE or - for standard input")
      ->type_name("JSON|@FILE|-");
  command.add_flag("--require-id", options->require_id, "Refuse events without an ID");
  commands.run_with(command, [options](Shell& shell) { return send(shell, *options); });
}

}  // namespace hapax::cli
