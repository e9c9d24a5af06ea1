// Behaviour of the file store alone: files, a clock that jumps, and a machine that restarts.
#include "rig.hpp"

#include <hapax/error.hpp>

#include "base/clock.hpp"
#include "base/fault.hpp"
#include "guard/file_record.hpp"
#include "guard/file_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Machine final : public guard::MachineClock {
 public:
  [[nodiscard]] Time now() const override { return wall; }
  [[nodiscard]] Duration since_boot() const override { return up; }
  [[nodiscard]] std::string boot() const override { return boot_id; }
  Time wall = Time(std::chrono::sys_days(std::chrono::year(2026) / 3 / 1));
  Duration up = 1h;
  std::string boot_id = "one";
};

class FileStoreTest : public testing::Test {
 protected:
  std::shared_ptr<guard::FileGuardStore> open() {
    return std::make_shared<guard::FileGuardStore>(folder_.path(), FileGuardOptions{}, machine_);
  }
  static GuardBegin request(const std::string& text) {
    GuardBegin begin;
    begin.key = {"default", "f", text};
    begin.takeover_after = 30s;
    return begin;
  }
  // Begins a call and returns its record's file: the one that is new in the folder.
  fs::path begin_in_progress(guard::FileGuardStore& store, const std::string& key, std::vector<GuardHold>& held) {
    const std::vector<fs::path> before = files();
    const GuardAnswer begun = store.begin(request(key));
    EXPECT_EQ(begun.begun, GuardBegun::started);
    held.push_back(begun.hold);
    for (const fs::path& each : files()) {
      if (std::ranges::find(before, each) == before.end()) { return each; }
    }
    ADD_FAILURE() << key << " has no file";
    return {};
  }
  // Holds the lock of a folder, as a stopped process does.
  class Stuck {
   public:
    explicit Stuck(const fs::path& folder) : descriptor_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT, 0600)) {
      EXPECT_EQ(::flock(descriptor_, LOCK_EX), 0);
    }
    Stuck(const Stuck&) = delete;
    Stuck& operator=(const Stuck&) = delete;
    ~Stuck() { ::close(descriptor_); }

   private:
    int descriptor_;
  };
  std::vector<fs::path> files() {
    std::vector<fs::path> found;
    for (const auto& each : fs::recursive_directory_iterator(folder_.path())) {
      if (each.is_regular_file() && each.path().filename() != "lock") { found.push_back(each.path()); }
    }
    return found;
  }

  Folder folder_;
  std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
};

// The checksum is the standard CRC-32 (IEEE 802.3), at every length.
TEST_F(FileStoreTest, TheChecksumIsTheUsualOne) {
  for (std::size_t length = 0; length < 40; ++length) {
    guard::FileRecord file;
    file.record.result = std::string(length, 'x');
    const std::string text = guard::write_record(file);
    std::uint32_t value = 0xFFFFFFFFU;
    for (const char byte : text.substr(guard::heartbeat_offset + guard::heartbeat_width + 1)) {
      value ^= static_cast<std::uint8_t>(byte);
      for (int bit = 0; bit < 8; ++bit) { value = (value & 1) != 0 ? (value >> 1) ^ 0xEDB88320U : value >> 1; }
    }
    std::stringstream expected;
    expected << "hapax-guard 1 " << std::hex << std::setw(8) << std::setfill('0') << ~value << "\n";
    EXPECT_EQ(text.substr(0, guard::heartbeat_offset), expected.str());
    EXPECT_TRUE(guard::read_record(text));
  }
}

TEST_F(FileStoreTest, RecordsOfEverySizeAreReadWhole) {
  const auto store = open();
  for (const std::size_t length : {1U, 1700U, 1800U, 1900U, 2048U, 8192U, 100'000U, 1'000'000U}) {
    const std::string key = std::to_string(length);
    const GuardAnswer begun = store->begin(request(key));
    const std::string result = "\"" + std::string(length, 'x') + "\"";
    EXPECT_EQ(store->finish(begun.hold, {.result = result}), GuardVerdict::accepted);
    EXPECT_EQ(store->begin(request(key)).record.result, result);
  }
}

TEST_F(FileStoreTest, AJumpOfTheClockTakesNothingOver) {
  const auto store = open();
  const GuardAnswer first = store->begin(request("a"));
  machine_->wall += 24h;
  EXPECT_EQ(store->begin(request("a")).begun, GuardBegun::in_progress);
  machine_->wall -= 48h;
  EXPECT_EQ(store->begin(request("a")).begun, GuardBegun::in_progress);
  EXPECT_EQ(store->finish(first.hold, {.result = "1"}), GuardVerdict::accepted);
}

TEST_F(FileStoreTest, AfterARestartOfTheMachineNobodyHoldsAnything) {
  GuardBegin never = request("b");
  never.takeover_after.reset();
  (void)open()->begin(request("a"));
  (void)open()->begin(never);
  machine_->boot_id = "two";
  machine_->up = 5s;
  const GuardAnswer again = open()->begin(request("a"));
  EXPECT_EQ(again.begun, GuardBegun::started);
  EXPECT_TRUE(again.taken_over);
  EXPECT_EQ(open()->begin(never).begun, GuardBegun::in_progress);
}

// The folder is replaced by another, such as a restored copy: keys that it contains are not run again, and keys that it
// lacks are forgotten with the next write.
TEST_F(FileStoreTest, AFolderThatIsReplacedIsTheOneThatCounts) {
  const auto store = open();
  const GuardAnswer old = store->begin(request("old"));
  EXPECT_EQ(store->finish(old.hold, {.result = "1"}), GuardVerdict::accepted);
  const std::string aside = folder_.path() + ".aside";
  fs::rename(folder_.path(), aside);
  const auto restored = open();
  const GuardAnswer kept = restored->begin(request("restored"));
  EXPECT_EQ(restored->finish(kept.hold, {.result = "2"}), GuardVerdict::accepted);
  EXPECT_EQ(store->begin(request("restored")).begun, GuardBegun::completed);
  EXPECT_EQ(store->begin(request("new")).begun, GuardBegun::started);
  EXPECT_EQ(store->begin(request("old")).begun, GuardBegun::started);
  EXPECT_EQ(store->begin(request("restored")).record.result, "2");
  fs::remove_all(aside);
}

TEST_F(FileStoreTest, AProgramMayCloseAllItsDescriptors) {
  const auto store = open();
  const GuardAnswer first = store->begin(request("a"));
  EXPECT_EQ(store->finish(first.hold, {.result = "1"}), GuardVerdict::accepted);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int each = 3; each < 1000; ++each) { ::close(each); }
    bool right = false;
    try {
      right =
          store->begin(request("a")).record.result == "1" && store->begin(request("b")).begun == GuardBegun::started;
    } catch (const std::exception&) { right = false; }
    ::_exit(right ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(FileStoreTest, NumbersOfEverySizeAreReadAsWritten) {
  for (const std::int64_t number : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{999'999'999'999'999'999},
                                    std::int64_t{1'000'000'000'000'000'000}, INT64_MAX}) {
    guard::FileRecord file;
    file.record.fence = number;
    file.record.started_at = Time(Duration(number));
    file.record.completed_at = Time(Duration(number));
    file.record.takeover_after = Duration(number);
    file.beat_since_boot = Duration(number < 0 ? 0 : number);
    const std::optional<guard::FileRecord> read = guard::read_record(guard::write_record(file));
    ASSERT_TRUE(read) << number;
    EXPECT_EQ(read->record, file.record);
    EXPECT_EQ(read->beat_since_boot, file.beat_since_boot);
  }
}

TEST_F(FileStoreTest, NoKeyLeavesTheFolder) {
  const auto store = open();
  for (const std::string text : {"../x", "/etc/passwd", "lock", ".", "..", "a/b", "\xc3\xbc", ""}) {
    EXPECT_EQ(store->begin(request(text)).begun, GuardBegun::started);
  }
  EXPECT_EQ(files().size(), 8U);
  for (const fs::path& file : files()) {
    EXPECT_THAT(file.filename().string(), testing::MatchesRegex("[0-9a-f]+"));
    EXPECT_EQ(file.parent_path().parent_path(), fs::path(folder_.path()));
  }
}

TEST_F(FileStoreTest, ADamagedRecordIsAnErrorNotAnotherRun) {
  const auto store = open();
  const GuardAnswer first = store->begin(request("a"));
  EXPECT_EQ(store->finish(first.hold, {.result = "\"paid\""}), GuardVerdict::accepted);
  const fs::path file = files().at(0);
  std::stringstream whole;
  whole << std::ifstream(file).rdbuf();
  const std::string text = whole.str();
  // A record that is cut anywhere, or has one byte changed outside the unchecked heartbeat, is damaged.
  for (std::size_t at = 0; at < text.size(); ++at) {
    EXPECT_FALSE(guard::read_record(text.substr(0, at))) << at;
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const bool heartbeat = at >= guard::heartbeat_offset && at < guard::heartbeat_offset + guard::heartbeat_width + 1;
    if (!heartbeat) { EXPECT_FALSE(guard::read_record(changed)) << at; }
  }
  EXPECT_TRUE(guard::read_record(text));
  std::ofstream(file, std::ios::trunc) << text.substr(0, text.size() / 2);
  EXPECT_THROW((void)store->begin(request("a")), StoreUnavailable);
  EXPECT_EQ(store->forget(request("a").key, false), GuardForgotten::forgotten);
  EXPECT_EQ(store->begin(request("a")).begun, GuardBegun::started);
}

TEST_F(FileStoreTest, AWriteThatBreaksOffLeavesTheOldRecord) {
  const auto store = open();
  for (const char* const place : {"guard.file.written", "guard.file.rename"}) {
    base::arm_faults(std::string(place) + "=throw");
    EXPECT_THROW((void)store->begin(request(place)), base::FaultInjected);
    base::arm_faults("");
    const GuardAnswer second = store->begin(request(place));
    EXPECT_EQ(second.begun, GuardBegun::started) << place;
    base::arm_faults(std::string(place) + "=throw");
    EXPECT_THROW((void)store->finish(second.hold, {.result = "1"}), base::FaultInjected);
    base::arm_faults("");
    EXPECT_EQ(store->begin(request(place)).begun, GuardBegun::in_progress) << place;
    EXPECT_EQ(store->finish(second.hold, {.result = "1"}), GuardVerdict::accepted);
    EXPECT_EQ(store->begin(request(place)).record.result, "1");
  }
}

TEST_F(FileStoreTest, AFolderThatCannotBeIsAClearError) {
  EXPECT_THROW((void)file_guard_store(""), InvalidArgument);
  std::ofstream(folder_.path() + "/file") << "x";
  EXPECT_THROW((void)file_guard_store(folder_.path() + "/file/below"), StoreUnavailable);
  EXPECT_THROW((void)open_guard_store("ftp://somewhere"), InvalidArgument);
  EXPECT_THROW((void)open_guard_store("file:"), InvalidArgument);
  EXPECT_EQ(open_guard_store("file:" + folder_.path() + "/new/")->info().location, "file:" + folder_.path() + "/new");
}

// For each position of the damaged record among the holds.
TEST_F(FileStoreTest, ADamagedRecordStopsTheHeartbeatOfNoOtherCall) {
  for (std::size_t bad = 0; bad < 3; ++bad) {
    const auto store = open();
    std::vector<GuardHold> held;
    std::vector<std::string> keys;
    std::vector<fs::path> paths;
    for (int number = 0; number < 3; ++number) {
      keys.push_back(std::to_string(bad) + "-" + std::to_string(number));
      paths.push_back(begin_in_progress(*store, keys.back(), held));
    }
    std::ofstream(paths[bad], std::ios::trunc) << "damaged";
    for (int beats = 0; beats < 3; ++beats) {
      machine_->up += 20s;
      EXPECT_THROW((void)store->beat(held), StoreUnavailable);
    }
    for (std::size_t other = 0; other < 3; ++other) {
      if (other == bad) { continue; }
      EXPECT_EQ(store->begin(request(keys[other])).begun, GuardBegun::in_progress) << bad << " " << other;
      EXPECT_EQ(store->finish(held[other], {.result = "1"}), GuardVerdict::accepted);
    }
  }
}

TEST_F(FileStoreTest, AStuckFolderStopsTheHeartbeatOfNoCallInAnother) {
  const auto store = open();
  std::vector<GuardHold> held;
  const fs::path stuck_file = begin_in_progress(*store, "stuck", held);
  std::vector<std::string> others;
  for (int number = 0; others.size() < 3; ++number) {
    std::vector<GuardHold> one;
    const std::string key = std::to_string(number);
    if (begin_in_progress(*store, key, one).parent_path() == stuck_file.parent_path()) { continue; }
    others.push_back(key);
    held.push_back(one.front());
  }
  {
    const Stuck stuck(stuck_file.parent_path());
    for (int beats = 0; beats < 3; ++beats) {
      machine_->up += 20s;
      EXPECT_THROW((void)store->beat(held), StoreUnavailable);
    }
    for (const std::string& key : others) {
      EXPECT_EQ(store->begin(request(key)).begun, GuardBegun::in_progress) << key;
    }
  }
  // When the lock is released, the call in that folder is renewed as well, because no caller has taken it over.
  EXPECT_TRUE(store->beat(held).empty());
  EXPECT_EQ(store->begin(request("stuck")).begun, GuardBegun::in_progress);
}

// The sweep runs on the heartbeat's thread.
TEST_F(FileStoreTest, AStuckFolderOrAnUnreadableRecordDoesNotStopASweep) {
  const auto store = std::make_shared<guard::FileGuardStore>(
      folder_.path(), FileGuardOptions{.sync = false, .lock_timeout = 10min}, machine_);
  std::vector<GuardHold> held;
  std::vector<fs::path> paths;
  for (int number = 0; number < 12; ++number) {
    paths.push_back(begin_in_progress(*store, std::to_string(number), held));
    EXPECT_EQ(store->finish(held.back(), {.result = "1", .ttl = 1s}), GuardVerdict::accepted);
  }
  machine_->wall += 2s;
  const auto in_stuck_folder = static_cast<std::size_t>(
      std::ranges::count(paths, paths[3].parent_path(), [](const fs::path& each) { return each.parent_path(); }));
  // A record that even root cannot open: a symbolic link is never followed.
  fs::remove(paths[7]);
  fs::create_symlink("elsewhere", paths[7]);
  {
    const Stuck stuck(paths[3].parent_path());
    EXPECT_THROW((void)store->sweep(100), StoreUnavailable);
    const std::size_t kept_bad = paths[7].parent_path() == paths[3].parent_path() ? 0 : 1;
    const auto left = static_cast<std::size_t>(
        std::ranges::count_if(paths, [](const fs::path& each) { return fs::exists(fs::symlink_status(each)); }));
    EXPECT_EQ(left, in_stuck_folder + kept_bad);
  }
  fs::remove(paths[7]);
  EXPECT_GE(store->sweep(100), in_stuck_folder - 1);
  EXPECT_TRUE(files().empty());
}

TEST_F(FileStoreTest, HowLongALockIsWaitedForIsAnOption) {
  EXPECT_EQ(FileGuardOptions{}.lock_timeout, 30s);
  std::vector<GuardHold> held;
  const fs::path folder = begin_in_progress(*open(), "a", held).parent_path();
  const Stuck stuck(folder);
  const auto told = [](const GuardStorePtr& store, const GuardHold& hold) -> std::string {
    try {
      (void)store->finish(hold, {.result = "1"});
    } catch (const StoreBusy& error) { return error.what(); }
    return "nothing was thrown";
  };
  EXPECT_THAT(told(file_guard_store(folder_.path(), {.lock_timeout = 20ms}), held[0]),
              testing::AllOf(testing::HasSubstr("20ms"), testing::HasSubstr("lock_timeout")));
  EXPECT_THAT(told(open_guard_store("file:" + folder_.path() + "?lock_timeout=30ms"), held[0]),
              testing::HasSubstr("30ms"));
  EXPECT_THROW((void)file_guard_store(folder_.path(), {.lock_timeout = 0s}), InvalidArgument);
  EXPECT_THROW((void)open_guard_store("file:" + folder_.path() + "?lock_timeout=11m"), InvalidArgument);
  EXPECT_THROW((void)open_guard_store("file:" + folder_.path() + "?lock_timeout"), InvalidArgument);
  EXPECT_THROW((void)open_guard_store("file:" + folder_.path() + "?patience=1s"), InvalidArgument);
}

TEST_F(FileStoreTest, SweepingRemovesTheFilesOfExpiredRecords) {
  const auto store = open();
  for (int number = 0; number < 20; ++number) {
    const GuardAnswer each = store->begin(request(std::to_string(number)));
    EXPECT_EQ(store->finish(each.hold, {.result = "1", .ttl = 1s}), GuardVerdict::accepted);
  }
  (void)store->begin(request("in progress"));
  EXPECT_EQ(store->sweep(100), 0U);
  machine_->wall += 2s;
  EXPECT_EQ(store->sweep(15), 15U);
  EXPECT_EQ(store->sweep(100), 5U);
  EXPECT_EQ(files().size(), 1U);
}

}  // namespace

}  // namespace hapax::guard_tests
