// Hostile text from clients is stored and returned unchanged; hostile text from handlers is made storable.
#include "conformance/fixture.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

namespace hapax::conformance {

namespace {

class HostileTextConformance : public Conformance {};

const std::vector<std::string> hostile_names = {"it's",
                                                "\"quoted\"",
                                                "semi;colon; DROP TABLE live; --",
                                                "percent%s%n%",
                                                "under_score*?",
                                                "back\\slash",
                                                "{s}.braces$1",
                                                "$$dollar$$",
                                                "Gr\xc3\xbc\xc3\x9f dich",
                                                "\xe6\x97\xa5\xe6\x9c\xac",
                                                "\xf0\x9f\xa6\x84",
                                                "NULL",
                                                " spaces ",
                                                "a,b c{\"}"};

TEST_F(HostileTextConformance, NamesComeBackAsTheyWere) {
  for (const std::string& name : hostile_names) {
    NewExecution item = request(name, name);
    item.queue.namespace_name = name;
    admit_id(item);
    const Execution found = get(item.id);
    EXPECT_EQ(found.task, name);
    EXPECT_EQ(found.queue, item.queue);
    const std::vector<Execution> listed = store().list({.namespace_name = name, .queue = name, .task = name});
    ASSERT_EQ(listed.size(), 1U) << name;
    EXPECT_EQ(listed[0].id, item.id);
    const std::vector<QueueInfo> queues = store().queues(name);
    ASSERT_EQ(queues.size(), 1U) << name;
    EXPECT_EQ(queues[0].queue, item.queue);
  }
}

TEST_F(HostileTextConformance, SuchQueuesCanBeClaimedFrom) {
  for (const std::string& name : hostile_names) {
    NewExecution item = request(name, name);
    admit_id(item);
    TestWorker one = worker(30s, {name});
    one.tasks = {"another", name};
    const Claim claim = claim_one(one);
    EXPECT_EQ(claim.id, item.id) << name;
    EXPECT_EQ(claim.task, name);
    EXPECT_EQ(claim.queue, item.queue);
    EXPECT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  }
}

TEST_F(HostileTextConformance, TagsMetadataAndKeysComeBackAsTheyWere) {
  for (const std::string& text : hostile_names) {
    NewExecution item = keyed(text);
    item.labels.tags = {text, "plain"};
    item.labels.metadata = R"({"note":"\u0000 \" ' ; %"})";
    item.labels.traceparent = text;
    item.effect_key = text;
    admit_id(item);
    bring_to(item.id, Status::completed);
    const Execution found = get(item.id);
    EXPECT_EQ(found.labels, item.labels);
    EXPECT_EQ(found.identity_key, text);
    const std::vector<Execution> listed = store().list({.tag = text});
    ASSERT_EQ(listed.size(), 1U) << text;
    EXPECT_EQ(listed[0].id, item.id);
  }
}

TEST_F(HostileTextConformance, SessionsComeBackAsTheyWere) {
  NewSession session;
  session.id = base::new_uuid7();
  session.worker = hostile_names[2];
  session.host = hostile_names[9];
  session.build = hostile_names[1];
  for (const std::string& name : hostile_names) {
    session.queues.push_back({.namespace_name = name, .name = name});
    session.tasks.push_back(name);
  }
  store().open_session(session);
  const std::vector<SessionInfo> sessions = store().sessions();
  ASSERT_EQ(sessions.size(), 1U);
  EXPECT_EQ(sessions[0].worker, session.worker);
  EXPECT_EQ(sessions[0].host, session.host);
  EXPECT_EQ(sessions[0].build, session.build);
  EXPECT_EQ(sessions[0].queues, session.queues);
  EXPECT_EQ(sessions[0].tasks, session.tasks);
}

TEST_F(HostileTextConformance, EmptyLabelsAreEmpty) {
  NewExecution item = request();
  item.labels = {.tags = {}, .metadata = "", .traceparent = ""};
  admit_id(item);
  EXPECT_EQ(get(item.id).labels, Labels{});
  TestWorker one = worker();
  EXPECT_EQ(claim_one(one).labels, Labels{});
}

TEST_F(HostileTextConformance, AnErrorWithAnyBytesCanBeWritten) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) { every_byte += static_cast<char>(byte); }
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  Finish retry = ending(claim_one(one), FinishKind::retry);
  retry.error = ErrorInfo{.type = every_byte.substr(0, 40), .message = every_byte, .detail = every_byte};
  EXPECT_EQ(finish(retry), FinishVerdict::accepted);
  Finish end = failed(claim_one(one));
  end.error = retry.error;
  EXPECT_EQ(finish(end), FinishVerdict::accepted);
  const Execution found = get(id);
  ASSERT_TRUE(found.error.has_value());
  EXPECT_EQ(found.error->message, base::escape_invalid(every_byte));
  EXPECT_TRUE(base::is_valid_utf8(found.error->detail));
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].error, found.error);
  EXPECT_EQ(attempts[1].error, found.error);
}

TEST_F(HostileTextConformance, AnErrorOfAnyLengthIsCutNotRefused) {
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  Finish end = failed(claim_one(one));
  end.error = ErrorInfo{.type = std::string(5000, 't'),
                        .message = std::string(100'000, 'm'),
                        .detail = std::string(3 << 20, 'x') + "the end"};
  EXPECT_EQ(finish(end), FinishVerdict::accepted);
  const ErrorInfo error = get(id).error.value_or(ErrorInfo{});
  EXPECT_EQ(error.message, std::string(limits::error_message_bytes, 'm'));
  EXPECT_EQ(error.detail.size(), limits::error_detail_bytes);
  EXPECT_TRUE(error.detail.ends_with("the end"));
}

TEST_F(HostileTextConformance, ReasonsAndNotesMayHoldAnyBytes) {
  const std::string text("odd \0 \xff ' \" ; %", 15);
  const Uuid id = admit_id(request());
  EXPECT_EQ(store().cancel({&id, 1}, text).at(0).verdict, CancelVerdict::cancelled);
  EXPECT_EQ(store().annotate({&id, 1}, text), 1);
  const Execution found = get(id);
  EXPECT_EQ(found.error.value_or(ErrorInfo{}).message, base::escape_invalid(text));
  EXPECT_EQ(found.note, base::escape_invalid(text));
}

TEST_F(HostileTextConformance, AReasonForARunningOneMayHoldAnyBytesToo) {
  const std::string text("odd \0 \xff", 7);
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  EXPECT_EQ(store().cancel({&id, 1}, text).at(0).verdict, CancelVerdict::requested);
  EXPECT_EQ(finish(ending(claim, FinishKind::cancelled)), FinishVerdict::accepted);
  EXPECT_EQ(get(id).error.value_or(ErrorInfo{}).message, base::escape_invalid(text));
}

TEST_F(HostileTextConformance, PayloadsOfTheLargestSizeGoInAndOut) {
  NewExecution item = request();
  item.input = "\"" + std::string(limits::payload_default - 2, 'i') + "\"";
  admit_id(item);
  EXPECT_TRUE(get(item.id).input == item.input);
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  EXPECT_TRUE(claim.input == item.input);
  const std::string result = "\"" + std::string(limits::payload_default - 2, 'r') + "\"";
  EXPECT_EQ(finish(completed(claim, result)), FinishVerdict::accepted);
  EXPECT_TRUE(get(item.id).result == result);
  EXPECT_TRUE(get(item.id).input == item.input);
}

TEST_F(HostileTextConformance, PayloadsAreKeptByteForByte) {
  const std::string odd =
      "{ \"b\" : 1.0,\t\"a\":\"\\u0000\\ud83e\\udd84 \xf0\x9f\xa6\x84 '; --\" ,\"n\":12345678901234567890 }";
  NewExecution item = request();
  item.input = odd;
  admit_id(item);
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  EXPECT_EQ(claim.input, odd);
  EXPECT_EQ(finish(completed(claim, odd)), FinishVerdict::accepted);
  EXPECT_EQ(get(item.id).input, odd);
  EXPECT_EQ(get(item.id).result, odd);
}

TEST_F(HostileTextConformance, JournalEntriesToo) {
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  const JournalEntry entry{
      .execution = id, .fence = claim.fence, .name = hostile_names[2], .data = R"("\u0000 ' \" ;")"};
  EXPECT_EQ(store().journal_append({&entry, 1}).at(0), FinishVerdict::accepted);
  const std::vector<JournalEntry> read = store().journal_read(id);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].name, entry.name);
  EXPECT_EQ(read[0].data, entry.data);
}

}  // namespace

}  // namespace hapax::conformance
