#include "base/text.hpp"
#include "cli/command_tree.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

// The fixed words that a flag accepts. `below`: the group of commands; empty: every command.
struct FlagWords {
  std::string below;
  std::string flag;
  std::string words;
};

// The first row that matches counts.
const std::vector<FlagWords>& words_of_flags() {
  static const std::vector<FlagWords> rows = {
      {"guard", "--status", "in_progress completed failed"},
      {"", "--status", "pending running completed failed cancelled timed_out"},
      {"", "--on-conflict", "return_existing reject wait terminate_existing"},
      {"", "--reuse", "failed_only reject allow"},
  };
  return rows;
}

// The shell's condition for a row, in both shells; `route` is the command named so far.
std::string condition(const FlagWords& row) {
  const std::string flag = "$prev == " + row.flag;
  return row.below.empty() ? "[[ " + flag + " ]]" : "[[ $route == '" + row.below + " '* && " + flag + " ]]";
}

bool takes_file(const OptionInfo& option) {
  const bool program = option.value.find("PROGRAM") != std::string::npos;
  return program || option.value.find("FILE") != std::string::npos;
}

// Quotes the text for a shell, in single quotes.
std::string quoted(std::string text) {
  std::string out = "'";
  for (const char c : text) { out += c == '\'' ? std::string("'\\''") : std::string(1, c); }
  return out + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) { text += (text.empty() ? "" : " ") + word; }
  return text;
}

struct Words {
  std::vector<std::string> commands;     // subcommands, their last words only
  std::vector<std::string> flags;        // all flags
  std::vector<std::string> value_flags;  // flags that take a value
  std::vector<std::string> file_flags;   // flags that take a file
  bool file_argument = false;
};

std::string last_word(const std::string& path) { return path.substr(path.find_last_of(' ') + 1); }

Words words_of(const CommandInfo& command) {
  Words words;
  for (const CommandInfo& below : command.commands) { words.commands.push_back(last_word(below.path)); }
  for (const OptionInfo& option : command.options) {
    if (option.names.empty()) {
      words.file_argument = words.file_argument || takes_file(option);
      continue;
    }
    words.flags.insert(words.flags.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) { continue; }
    words.value_flags.insert(words.value_flags.end(), option.names.begin(), option.names.end());
    if (takes_file(option)) {
      words.file_flags.insert(words.file_flags.end(), option.names.begin(), option.names.end());
    }
  }
  return words;
}

std::vector<std::string> all_value_flags(const std::vector<const CommandInfo*>& commands) {
  std::vector<std::string> all;
  for (const CommandInfo* command : commands) {
    for (const std::string& flag : words_of(*command).value_flags) {
      if (std::find(all.begin(), all.end(), flag) == all.end()) { all.push_back(flag); }
    }
  }
  return all;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) { text += (text.empty() ? "" : "|") + word; }
  return text;
}

std::string command_paths(const std::vector<const CommandInfo*>& commands) {
  std::string text;
  for (const CommandInfo* command : commands) {
    if (!command->path.empty()) { text += (text.empty() ? "" : "|") + quoted(command->path); }
  }
  return text;
}

// The shell loop that finds the command named by the words so far. Both shells share it, except for how words are
// counted.
std::string walk(const std::vector<const CommandInfo*>& commands, const std::string& words, const std::string& first,
                 const std::string& end) {
  return "  local route='' word i\n"
         "  for ((i = " +
         first + "; i < " + end +
         "; i++)); do\n"
         "    word=${" +
         words +
         "[i]}\n"
         "    case $word in\n"
         "      " +
         alternatives(all_value_flags(commands)) +
         ") ((i++)) ;;\n"
         "      -*) ;;\n"
         "      *)\n"
         "        case ${route:+$route }$word in\n"
         "          " +
         command_paths(commands) +
         ") route=${route:+$route }$word ;;\n"
         "        esac ;;\n"
         "    esac\n"
         "  done\n";
}

}  // namespace

std::string bash_completion(const CommandInfo& root) {
  const std::vector<const CommandInfo*> commands = flatten(root);
  std::string text =
      "# bash completion for hapax, made by `hapax completion bash`\n"
      "_hapax() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} commands='' flags='' files=''\n"
      "  COMPREPLY=()\n";
  text += walk(commands, "COMP_WORDS", "1", "COMP_CWORD");
  for (const FlagWords& row : words_of_flags()) {
    text += "  if " + condition(row) + "; then COMPREPLY=($(compgen -W " + quoted(row.words) +
            " -- \"$cur\")); return; fi\n";
  }
  text += "  local values=''\n  case $route in\n";
  for (const CommandInfo* command : commands) {
    const Words words = words_of(*command);
    text += "    " + quoted(command->path) + ")\n";
    text += "      commands=" + quoted(joined(words.commands)) + "\n";
    text += "      flags=" + quoted(joined(words.flags)) + "\n";
    text += "      values=" + quoted(joined(words.value_flags)) + "\n";
    text += "      files=" + quoted(joined(words.file_flags) + (words.file_argument ? " ARGUMENT" : "")) + " ;;\n";
  }
  text +=
      "  esac\n"
      "  if [[ \" $files \" == *\" $prev \"* ]]; then COMPREPLY=($(compgen -f -- \"$cur\")); return; fi\n"
      "  if [[ \" $values \" == *\" $prev \"* ]]; then return; fi\n"
      "  if [[ $cur == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
      "  elif [[ -n $commands ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
      "  elif [[ \" $files \" == *' ARGUMENT '* ]]; then\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _hapax hapax\n";
  return text;
}

std::string zsh_completion(const CommandInfo& root) {
  const std::vector<const CommandInfo*> commands = flatten(root);
  // _describe ends a word at a colon, so colons in words are escaped.
  const auto described = [](const std::string& word, const std::string& text) {
    std::string escaped;
    for (const char c : word) { escaped += c == ':' ? std::string("\\:") : std::string(1, c); }
    return quoted(escaped + ":" + text);
  };
  std::string text =
      "#compdef hapax\n"
      "# zsh completion for hapax, made by `hapax completion zsh`\n"
      "_hapax() {\n"
      "  local -a commands flags values files\n"
      "  local cur=${words[CURRENT]} prev=${words[CURRENT - 1]}\n";
  text += walk(commands, "words", "2", "CURRENT");
  for (const FlagWords& row : words_of_flags()) {
    text += "  if " + condition(row) + "; then compadd -- " + row.words + "; return; fi\n";
  }
  text += "  case $route in\n";
  for (const CommandInfo* command : commands) {
    const Words words = words_of(*command);
    text += "    " + quoted(command->path) + ")\n      commands=(";
    for (const CommandInfo& below : command->commands) {
      text += "\n        " + described(last_word(below.path), below.summary);
    }
    text += ")\n      flags=(";
    for (const OptionInfo& option : command->options) {
      for (const std::string& name : option.names) { text += "\n        " + described(name, option.text); }
    }
    text += ")\n      values=(" + joined(words.value_flags) + ")\n";
    text += "      files=(" + joined(words.file_flags) + (words.file_argument ? " ARGUMENT" : "") + ") ;;\n";
  }
  text +=
      "  esac\n"
      "  if (( ${files[(Ie)$prev]} )); then _files; return; fi\n"
      "  if (( ${values[(Ie)$prev]} )); then return; fi\n"
      "  if [[ $cur == -* ]]; then _describe -o flag flags\n"
      "  elif (( ${#commands} )); then _describe command commands\n"
      "  elif (( ${files[(Ie)ARGUMENT]} )); then _files\n"
      "  fi\n"
      "}\n"
      "if [[ $funcstack[1] == _hapax ]]; then _hapax \"$@\"; else compdef _hapax hapax; fi\n";
  return text;
}

}  // namespace hapax::cli
