#include "store/encrypted/cipher.hpp"

#include "model/labels.hpp"

namespace hapax::store::encrypted {

namespace {

Place input_place(const std::string& namespace_name, const std::string& task) {
  return Place("input").add(namespace_name).add(task);
}
Place result_place(const Uuid& execution) { return Place("result").add(execution); }
Place message_place(const Uuid& execution) { return Place("error.message").add(execution); }
Place detail_place(const Uuid& execution) { return Place("error.detail").add(execution); }
Place journal_place(const JournalEntry& entry) {
  return Place("journal").add(entry.execution).add(std::to_string(entry.position));
}
Place signal_place(const std::string& name) { return Place("signal").add(name); }

}  // namespace

NewExecution Cipher::sealed(NewExecution item) const {
  item.input = seal(input_place(item.queue.namespace_name, item.task), item.input);
  if (item.seed) { item.seed = std::make_shared<const Seed>(sealed(item.id, *item.seed)); }
  return item;
}

Finish Cipher::sealed(Finish finish) const {
  if (finish.kind == FinishKind::completed) { finish.result = seal(result_place(finish.id), finish.result); }
  if (finish.error) { finish.error = sealed(finish.id, *finish.error); }
  if (finish.turn) { finish.turn = std::make_shared<const Turn>(sealed(finish.id, *finish.turn)); }
  return finish;
}

JournalEntry Cipher::sealed(JournalEntry entry) const {
  entry.data = seal(journal_place(entry), entry.data);
  if (entry.start) { entry.start = std::make_shared<const NewExecution>(sealed(*entry.start)); }
  return entry;
}

Advance Cipher::sealed(Advance turn) const {
  for (JournalEntry& entry : turn.entries) {
    entry.execution = turn.execution;
    entry = sealed(std::move(entry));
  }
  return turn;
}

Signal Cipher::sealed(Signal signal) const {
  signal.data = seal(signal_place(signal.name), signal.data);
  return signal;
}

ActivityChange Cipher::sealed(ActivityChange change) const {
  for (NewExecution& item : change.admit) { item = sealed(std::move(item)); }
  return change;
}

// Escapes and cuts the error before sealing it, as the store would: sealed text can no longer be cut.
ErrorInfo Cipher::sealed(const Uuid& execution, const ErrorInfo& error) const {
  ErrorInfo kept = decode_error(encode_error(error));
  kept.message = seal(message_place(execution), kept.message);
  if (!kept.detail.empty()) { kept.detail = seal(detail_place(execution), kept.detail); }
  return kept;
}

Event Cipher::sealed(Event event) const {
  if (event.kind == EventKind::signal && event.data) { event.data = seal(signal_place(event.name), *event.data); }
  if (event.kind == EventKind::ended && event.child) {
    if (event.data) { event.data = seal(result_place(*event.child), *event.data); }
    if (event.error) { event.error = sealed(*event.child, *event.error); }
  }
  return event;
}

Turn Cipher::sealed(const Uuid& execution, Turn turn) const {
  for (JournalEntry& entry : turn.entries) {
    entry.execution = execution;
    entry = sealed(std::move(entry));
  }
  if (turn.next) { turn.next = std::make_shared<const NewExecution>(sealed(*turn.next)); }
  return turn;
}

Seed Cipher::sealed(const Uuid& execution, Seed seed) const {
  for (JournalEntry& entry : seed.entries) {
    entry.execution = execution;
    entry = sealed(std::move(entry));
  }
  for (Event& event : seed.events) { event = sealed(std::move(event)); }
  return seed;
}

void Cipher::open_text(const Uuid& execution, const Place& place, std::string& text) const {
  if (!is_envelope(text)) { return; }
  try {
    text = encrypted::open(keys_, place, text);
  } catch (const DecryptionFailed& error) {
    throw DecryptionFailed("execution " + execution.to_string() + ": " + error.what());
  }
}

void Cipher::open_result(const Uuid& execution, std::optional<std::string>& result) const {
  if (result) { open_text(execution, result_place(execution), *result); }
}

void Cipher::open_error(const Uuid& execution, std::optional<ErrorInfo>& error) const {
  if (!error) { return; }
  open_text(execution, message_place(execution), error->message);
  open_text(execution, detail_place(execution), error->detail);
}

// The batch is committed by now and every item must be answered, so an unreadable result of a holder counts as expired.
void Cipher::open(Admission& admission) const {
  try {
    open_result(admission.id, admission.result);
  } catch (const DecryptionFailed&) {
    admission.result.reset();
    admission.expired = true;
  }
}

void Cipher::open(Claim& claim) const {
  open_text(claim.id, input_place(claim.queue.namespace_name, claim.task), claim.input);
}

void Cipher::open(Execution& execution) const {
  open_text(execution.id, input_place(execution.queue.namespace_name, execution.task), execution.input);
  open_result(execution.id, execution.result);
  open_error(execution.id, execution.error);
}

void Cipher::open(Outcome& outcome) const {
  open_result(outcome.id, outcome.result);
  open_error(outcome.id, outcome.error);
}

void Cipher::open(Guard& guard) const {
  open_result(guard.id, guard.result);
  open_error(guard.id, guard.error);
}

void Cipher::open(Holding& holding) const { open_result(holding.holder.id, holding.holder.result); }

void Cipher::open(JournalEntry& entry) const { open_text(entry.execution, journal_place(entry), entry.data); }

void Cipher::open(Event& event) const {
  if (event.kind == EventKind::signal && event.data) {
    open_text(event.execution, signal_place(event.name), *event.data);
  } else if (event.kind == EventKind::ended && event.child) {
    open_result(*event.child, event.data);
    open_error(*event.child, event.error);
  }
}

void Cipher::open(History& history) const {
  for (JournalEntry& entry : history.entries) { open(entry); }
  for (Event& event : history.events) { open(event); }
}

void Cipher::open(ActivityReply& reply) const {
  for (Admission& admission : reply.admissions) { open(admission); }
}

void Cipher::open(const Uuid& execution, Attempt& attempt) const { open_error(execution, attempt.error); }

}  // namespace hapax::store::encrypted
