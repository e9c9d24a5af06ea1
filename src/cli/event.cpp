#include "base/limits.hpp"
#include "cli/commands.hpp"
#include "cli/event_input.hpp"
#include "cli/event_sender.hpp"
#include "cli/line_reader.hpp"

namespace hapax::cli {
namespace {

constexpr const char* event_group_examples =
    "An event is a CloudEvents 1.0 envelope. Each activity that wants it starts one run for it, however often it is "
    "sent.\n"
    "\n"
    "Examples:\n"
    "  hapax event send --source /shop --type order.created --id evt_1 --data '{\"order\":456}'\n"
    "  hapax event send --bulk events.ndjson\n"
    "\n"
    "docs/schemas/event.schema.json describes the envelope.";

constexpr const char* send_examples =
    "EVENT is JSON, a file (@FILE or FILE), or - for standard input. A file may have one event, a JSON list of at most "
    "1,000,\n"
    "or one event a line (NDJSON): those are sent as they are read, 1,000 at a time. The first line that cannot be "
    "taken stops\n"
    "it before its batch is sent; what was sent before stays, and sending all of it again is safe.\n"
    "An event without an id gets a hash of its source, type, subject and data as one, unless --require-id or [events]\n"
    "require_event_id says that it is refused.\n"
    "With --json a line for each event: "
    "{\"line\"?,\"id\",\"source\",\"type\",\"runs\":[{\"activity\",\"run_id\",\"execution\",\"created\",\"error\"}],\n"
    "\"paused\"}; of several, the last line is "
    "{\"events\",\"started\",\"duplicates\",\"unmatched\",\"dropped\",\"refused\"}.\n"
    "\n"
    "Examples:\n"
    "  hapax event send '{\"specversion\":\"1.0\",\"id\":\"evt_1\",\"source\":\"/shop\",\"type\":\"order.created\"}'\n"
    "  hapax event send order.json --require-id\n"
    "  zcat events.ndjson.gz | hapax event send -\n"
    "\n"
    "Exit codes: 0 sent, also when nobody wants it; 3 some run could not be started; 64, 65, 66, 75.";

// One document over several lines: an event, or a list of them.
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

// A line that is an object by itself: the file is one of lines.
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
  CLI::App& group = commands.add({"event", "Events: send", event_group_examples});
  const auto options = std::make_shared<EventOptions>();
  CLI::App& command = commands.add({"send", "Send one event, or many", send_examples}, &group);
  command.add_option("event", options->event, "The event: JSON, @FILE or - for standard input")->type_name("EVENT");
  command.add_option("--bulk", options->bulk, "Many: a file (- for standard input) with one event a line")
      ->type_name("FILE|-");
  command.add_option("--id", options->parts.id, "Of an event made of flags: what tells it from others of its source")
      ->type_name("ID");
  command.add_option("--source", options->parts.source, "Who tells it: /shop")->type_name("URI");
  command.add_option("--type", options->parts.type, "What happened: order.created")->type_name("TYPE");
  command.add_option("--subject", options->parts.subject, "About what: orders/456")->type_name("TEXT");
  command.add_option("--data", options->parts.data, "JSON, @FILE or - for standard input")->type_name("JSON|@FILE|-");
  command.add_flag("--require-id", options->require_id, "Refuse events without an id");
  commands.run_with(command, [options](Shell& shell) { return send(shell, *options); });
}

}  // namespace hapax::cli
