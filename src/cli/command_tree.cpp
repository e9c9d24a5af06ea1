#include "cli/command_tree.hpp"

#include "base/json_out.hpp"
#include "cli/exit_code.hpp"
#include "cli/problem.hpp"

namespace hapax::cli {
namespace {

OptionInfo describe_option(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_lnames()) { info.names.push_back("--" + name); }
  for (const std::string& name : option.get_snames()) { info.names.push_back("-" + name); }
  if (info.names.empty()) { info.argument = option.get_name(true); }
  if (option.get_items_expected_max() > 0) { info.value = option.get_type_name(); }
  info.text = option.get_description();
  info.usual = option.get_default_str();
  info.required = option.get_required();
  info.common = option.get_group() == "Common";
  return info;
}

CommandInfo describe_command(const CLI::App& app, const std::string& path) {
  CommandInfo info{.path = path, .summary = app.get_description(), .examples = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) { info.options.push_back(describe_option(*option)); }
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) { continue; }  // hidden
    info.commands.push_back(describe_command(*below, path + (path.empty() ? "" : " ") + below->get_name()));
  }
  return info;
}

void add_all(const CommandInfo& info, std::vector<const CommandInfo*>& all) {
  all.push_back(&info);
  for (const CommandInfo& below : info.commands) { add_all(below, all); }
}

}  // namespace

CommandInfo describe(const CLI::App& root) { return describe_command(root, ""); }

std::vector<const CommandInfo*> flatten(const CommandInfo& root) {
  std::vector<const CommandInfo*> all;
  add_all(root, all);
  return all;
}

std::string tree_json(const CommandInfo& root) {
  std::vector<std::string> commands;
  for (const CommandInfo* command : flatten(root)) {
    std::vector<std::string> options;
    for (const OptionInfo& option : command->options) {
      options.push_back(JsonObject()
                            .raw("names", json_text_array(option.names))
                            .text_or_null("argument", option.argument)
                            .text_or_null("value", option.value)
                            .text("text", option.text)
                            .boolean("required", option.required)
                            .boolean("common", option.common)
                            .str());
    }
    commands.push_back(JsonObject()
                           .text("path", command->path)
                           .text("summary", command->summary)
                           .text("examples", command->examples)
                           .boolean("group", !command->commands.empty())
                           .raw("options", json_array(options))
                           .str());
  }
  std::vector<std::string> codes;
  for (const ExitCodeMeaning& meaning : exit_code_meanings) {
    codes.push_back(JsonObject().number("code", std::int64_t{meaning.code}).text("text", meaning.text).str());
  }
  return JsonObject().raw("commands", json_array(commands)).raw("exit_codes", json_array(codes)).str();
}

}  // namespace hapax::cli
