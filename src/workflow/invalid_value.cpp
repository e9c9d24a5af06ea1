// Errors for values that do not convert to the type for which a workflow's function asked.
//
// A signal, or the result of a task or child, may come from another program. A value that does not convert makes that
// call throw. The error is recorded behind the call's entry, so that the function may catch it and every replay throws
// it again. If the journal goes on without such a record, the code that wrote it could read the value: the code has
// changed, and the run is parked.
#include "workflow/workflow_run.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace hapax::detail {

namespace {

using workflow::Entry;

std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  return type == typeid(std::string) ? "std::string" : text ? text.get() : type.name();
}

[[noreturn]] void throw_invalid(std::string_view name, const model::ErrorInfo& error) {
  if (error.type == "InvalidSignal") { throw InvalidSignal(name, error.message); }
  throw InvalidResult(name, error.message);
}

std::string shown(const std::string& json) {
  std::string head = base::keep_head(json, limits::payload_shown_bytes);
  if (head.size() < json.size()) { head += "â¦ (" + std::to_string(json.size()) + " bytes)"; }
  return head;
}

}  // namespace

void WorkflowRun::invalid(std::int32_t position, const Unfit& unfit) {
  if (replay_.replaying()) { misfit(replay_.at(position).name, unfit.why); }
  record_invalid(position, unfit);
}

// Only the workflow's own code writes a step's result. If the result comes from the journal, other code wrote it.
void WorkflowRun::invalid_step(const Unfit& unfit) {
  if (!last_step_ran_here_) { misfit(replay_.at(last_step_).name, unfit.why); }
  record_invalid(last_step_, unfit);
}

void WorkflowRun::record_invalid(std::int32_t position, const Unfit& unfit) {
  const std::string name = replay_.at(position).name;
  const Entry kind = workflow::entry_of(replay_.at(position));
  const bool signal = kind == Entry::signal;
  const std::string message = (signal ? "" : "the result of ") + workflow::describe(kind, name) + " is " +
                              shown(unfit.json) + ", expected " + readable(unfit.expected) + ": " +
                              base::keep_head(unfit.why, limits::payload_shown_bytes);
  const model::ErrorInfo error{.type = signal ? "InvalidSignal" : "InvalidResult",
                               .message = base::keep_head(base::escape_invalid(message), limits::error_message_bytes),
                               .detail = ""};
  replay_.add(Entry::invalid, name, workflow::encode_invalid(position, error));
  throw_invalid(name, error);
}

void WorkflowRun::throw_if_invalid(std::int32_t position) {
  const model::JournalEntry* const entry = replay_.peek();
  if (entry == nullptr || workflow::entry_of(*entry) != Entry::invalid ||
      workflow::decode_number(*entry, "of") != position) {
    return;
  }
  const std::string name = entry->name;
  const model::ErrorInfo error = workflow::decode_invalid(*entry);
  replay_.take();
  throw_invalid(name, error);
}

void WorkflowRun::misfit(std::string_view what, const std::string& why) {
  diverge("the recorded result of '" + std::string(what) + "' does not fit the code: " + why);
}

}  // namespace hapax::detail
