#include "guard/file_store.hpp"

#include <hapax/error.hpp>

#include "base/uuid7.hpp"
#include "guard/rule.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <numeric>
#include <thread>

namespace hapax::guard {

namespace {
constexpr std::size_t files_a_page = 20'000;  // read for one page of list, matching or not
// How long one beat retries locked sub-folders, in total; the next beat follows soon.
constexpr Duration beat_patience = std::chrono::seconds(1);
constexpr Duration lock_timeout_min = std::chrono::milliseconds(1);
constexpr Duration lock_timeout_max = std::chrono::minutes(10);
constexpr Duration beat_pause = std::chrono::milliseconds(5);

Duration checked_lock_timeout(Duration timeout) {
  if (timeout < lock_timeout_min || timeout > lock_timeout_max) {
    throw InvalidArgument("lock_timeout", format_duration(timeout) + " is out of range; expected 1ms to 10m");
  }
  return timeout;
}
}  // namespace

Time KernelClock::now() const { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

Duration KernelClock::since_boot() const {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec / 1000);
}

std::string KernelClock::boot() const {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

FileGuardStore::FileGuardStore(const std::string& folder, const FileGuardOptions& options,
                               std::shared_ptr<const MachineClock> clock)
    : lock_timeout_(checked_lock_timeout(options.lock_timeout)),
      place_(folder, options.sync),
      sync_(options.sync),
      clock_(std::move(clock)),
      boot_(clock_->boot()) {}

RecordView FileGuardStore::view(const std::string& path, const FileText& text) {
  std::optional<RecordView> seen = view_record(text.view());
  if (!seen) {
    // A damaged file must not count as an absent record, because its call may have had its effect.
    throw StoreUnavailable("file store of guarded calls: " + path +
                           " is damaged; remove it if its call may be made again");
  }
  return *seen;
}

std::optional<FileRecord> FileGuardStore::load(const std::string& path) const {
  FileText text;
  return place_.read(path, text) ? std::optional(record_of(view(path, text))) : std::nullopt;
}

Duration FileGuardStore::heartbeat_age(const FileRecord& file) const {
  if (file.boot != boot_) { return Duration::max(); }
  return std::max(Duration::zero(), clock_->since_boot() - file.beat_since_boot);
}

GuardRecord FileGuardStore::shown(FileRecord& file) const {
  const bool this_boot = file.boot == boot_ && file.record.status == GuardStatus::in_progress;
  file.record.heartbeat = this_boot                  ? clock_->now() - heartbeat_age(file)
                          : file.record.completed_at ? *file.record.completed_at
                                                     : file.record.started_at;
  return std::move(file.record);
}

void FileGuardStore::meet_record(FileRecord& file, const GuardBegin& request, GuardAnswer& answer) const {
  const bool runs = file.record.status == GuardStatus::in_progress;
  const Duration age = runs ? heartbeat_age(file) : Duration::zero();
  const Meeting meeting = meet(file.record, request.fingerprint, answer.now, age);
  answer.begun = begun(meeting);
  answer.taken_over = meeting == Meeting::abandoned;
  if (meeting == Meeting::in_progress) { answer.takeover_in = takeover_in(file.record, age); }
  if (answer.begun != GuardBegun::started) { answer.record = shown(file); }
}

// Returns false when the caller may start. An ended record is returned without key and owner: the caller knows the key
// and does not need the owner.
bool FileGuardStore::meet_unlocked(const FileName& name, const GuardBegin& request, GuardAnswer& met) const {
  FileText text;
  if (!place_.read_unlocked(name, text)) { return false; }
  const RecordView seen = view(name.path, text);
  met.now = clock_->now();
  if (seen.status == GuardStatus::in_progress) {
    FileRecord file = record_of(seen);
    meet_record(file, request, met);
  } else {
    put_outcome(seen, met.record);
    met.record.heartbeat = met.record.completed_at.value_or(met.record.started_at);
    met.begun = begun(meet(met.record, request.fingerprint, met.now, Duration::zero()));
  }
  return met.begun != GuardBegun::started;
}

GuardAnswer FileGuardStore::begin(const GuardBegin& request) {
  const FileName name = place_.name_of(request.key);
  // Reading needs no lock, as a record is replaced as a whole.
  GuardAnswer met;
  if (meet_unlocked(name, request, met)) { return met; }
  met = GuardAnswer{};
  const FolderLock lock(name.folder(), lock_timeout_);
  met.now = clock_->now();
  std::optional<FileRecord> file = load(name.path);
  if (file) { meet_record(*file, request, met); }
  if (met.begun == GuardBegun::started) { start(name, request, file, met); }
  return met;
}

void FileGuardStore::start(const FileName& name, const GuardBegin& request, const std::optional<FileRecord>& before,
                           GuardAnswer& answer) {
  const Time now = answer.now;
  FileRecord file;
  file.record.key = request.key;
  file.record.started_at = now;
  file.record.fence = before ? before->record.fence + 1 : 1;
  file.record.takeover_after = request.takeover_after;
  file.record.fingerprint = request.fingerprint;
  file.record.owner = request.owner;
  file.token = base::new_uuid7().to_string();
  file.boot = boot_;
  file.beat_since_boot = clock_->since_boot();
  try {
    place_.write(name, write_record(file));
  } catch (const StoreUnavailable&) {
    // The record may be visible although it is not on disk: the caller will not run, so it must not hold the key.
    place_.remove(name);
    throw;
  }
  answer.begun = GuardBegun::started;
  answer.hold = {request.key, file.record.fence, file.token, request.takeover_after};
}

FileGuardStore::Beaten FileGuardStore::beat_one(const GuardHold& hold) const {
  const FileName name = place_.name_of(hold.key);
  const FolderLock lock(name.folder());
  if (!lock.holds()) { return Beaten::busy; }
  const std::optional<FileRecord> file = load(name.path);
  if (!file || file->record.fence != hold.fence || file->token != hold.token ||
      file->record.status != GuardStatus::in_progress) {
    return Beaten::lost;
  }
  // Not synced: a power failure that loses the heartbeat also ends the holder.
  place_.overwrite(name, heartbeat_offset, write_heartbeat(clock_->since_boot()));
  return Beaten::renewed;
}

// Renews each hold on its own: a damaged record or a locked sub-folder must not let other calls be taken over.
std::vector<std::size_t> FileGuardStore::beat(std::span<const GuardHold> held) {
  std::vector<std::size_t> lost;
  std::vector<std::string> failures;
  std::vector<std::size_t> waiting(held.size());
  std::iota(waiting.begin(), waiting.end(), 0);
  const auto until = std::chrono::steady_clock::now() + std::min(lock_timeout_, beat_patience);
  while (!waiting.empty()) {
    std::vector<std::size_t> busy;
    for (const std::size_t index : waiting) {
      try {
        const Beaten beaten = beat_one(held[index]);
        if (beaten == Beaten::lost) { lost.push_back(index); }
        if (beaten == Beaten::busy) { busy.push_back(index); }
      } catch (const std::exception& error) { failures.emplace_back(error.what()); }
    }
    waiting.swap(busy);
    if (waiting.empty() || std::chrono::steady_clock::now() >= until) { break; }
    std::this_thread::sleep_for(beat_pause);
  }
  for (const std::size_t index : waiting) {
    failures.push_back("file store of guarded calls: " + place_.name_of(held[index].key).folder() +
                       "/lock is held by a process that is stopped or whose disk stalls");
  }
  if (!failures.empty()) {
    throw StoreUnavailable(failures.front() + " (" + std::to_string(failures.size()) + " of " +
                           std::to_string(held.size()) + " calls in progress could not be renewed)");
  }
  std::ranges::sort(lost);
  return lost;
}

GuardVerdict FileGuardStore::finish(const GuardHold& hold, const GuardFinish& finish) {
  const FileName name = place_.name_of(hold.key);
  const FolderLock lock(name.folder(), lock_timeout_);
  std::optional<FileRecord> file = load(name.path);
  if (!file || file->record.fence != hold.fence || file->token != hold.token) { return GuardVerdict::stale; }
  const Time now = clock_->now();
  GuardRecord& record = file->record;
  const GuardStatus ends_as = finish.end == GuardEnd::failed ? GuardStatus::failed : GuardStatus::completed;
  if (record.status != GuardStatus::in_progress) {
    const bool again = finish.end != GuardEnd::unlocked && record.status == ends_as && !is_expired(record, now);
    return again ? GuardVerdict::accepted : GuardVerdict::stale;
  }
  if (finish.end == GuardEnd::unlocked) {
    place_.remove(name);
    return GuardVerdict::accepted;
  }
  record.status = ends_as;
  if (ends_as == GuardStatus::completed) { record.result = finish.result; }
  if (ends_as == GuardStatus::failed) { record.error = finish.error.value_or(GuardError{}); }
  record.completed_at = now;
  record.expires_at = expiry(now, finish.ttl);
  place_.write(name, write_record(*file));
  return GuardVerdict::accepted;
}

std::optional<GuardRecord> FileGuardStore::read(const GuardKey& key) {
  std::optional<FileRecord> file = load(place_.name_of(key).path);
  if (!file || is_expired(file->record, clock_->now())) { return std::nullopt; }
  return shown(*file);
}

GuardPage FileGuardStore::list(const GuardQuery& query) {
  check_query(query);
  GuardPage page;
  std::size_t looks = 0;
  for (const std::string& folder : place_.folders()) {
    // A cursor is the name of the last file read, which begins with its sub-folder's name.
    if (folder < query.after.substr(0, folder.size())) { continue; }
    for (const std::string& record : place_.records(folder)) {
      if (record <= query.after) { continue; }
      ++looks;
      std::optional<FileRecord> file = load(place_.name_at(folder, record).path);
      if (file && matches(query, file->record.key, file->record.status) && !is_expired(file->record, clock_->now())) {
        page.records.push_back(shown(*file));
      }
      if (page.records.size() >= static_cast<std::size_t>(query.limit) || looks >= files_a_page) {
        page.next = record;
        return page;
      }
    }
  }
  return page;
}

GuardForgotten FileGuardStore::forget(const GuardKey& key, bool even_in_progress) {
  const FileName name = place_.name_of(key);
  const std::optional<std::string> seen = place_.read(name.path);
  if (!seen) { return GuardForgotten::absent; }
  const FolderLock lock(name.folder(), lock_timeout_);
  const std::optional<std::string> text = place_.read(name.path);
  if (!text) { return GuardForgotten::absent; }
  // forget() also removes a damaged record, so that an operator can repair it.
  const std::optional<FileRecord> file = read_record(*text);
  if (file && file->record.status == GuardStatus::in_progress && !even_in_progress) {
    return GuardForgotten::in_progress;
  }
  place_.remove(name);
  return file && is_expired(file->record, clock_->now()) ? GuardForgotten::absent : GuardForgotten::forgotten;
}

bool FileGuardStore::sweep_one(const FileName& name) {
  const std::optional<std::string> text = place_.read(name.path);
  const std::optional<FileRecord> file = text ? read_record(*text) : std::nullopt;
  if (!file || !is_expired(file->record, clock_->now())) { return false; }
  // A sweep runs on the heartbeat's thread, so it leaves a locked sub-folder to the next sweep.
  const FolderLock lock(name.folder());
  if (!lock.holds()) { return false; }
  // Another call may have begun since the first read.
  if (place_.read(name.path) != text) { return false; }
  place_.remove(name);
  return true;
}

std::size_t FileGuardStore::sweep(std::size_t limit) {
  const std::vector<std::string> folders = place_.folders();
  std::size_t removed = 0;
  std::size_t looks = 0;
  // Starts where the last sweep stopped, so that successive sweeps cover a large folder.
  const std::size_t first = sweep_from_.load();
  std::size_t done = 0;
  std::string failure;
  for (; done < folders.size() && removed < limit && looks < files_a_page; ++done) {
    const std::string& folder = folders[(first + done) % folders.size()];
    for (const std::string& record : place_.records(folder)) {
      if (removed >= limit) { break; }
      ++looks;
      try {
        if (sweep_one(place_.name_at(folder, record))) { ++removed; }
      } catch (const StoreUnavailable& error) {
        if (failure.empty()) { failure = error.what(); }
      }
    }
  }
  sweep_from_.store(first + done);
  if (!failure.empty()) { throw StoreUnavailable(failure); }
  return removed;
}

GuardStoreInfo FileGuardStore::info() const {
  return {.backend = "file", .location = "file:" + place_.folder(), .shared = true, .durable = sync_};
}

}  // namespace hapax::guard

namespace hapax {

GuardStorePtr file_guard_store(const std::string& folder, const FileGuardOptions& options) {
  return std::make_shared<guard::FileGuardStore>(folder, options);
}

}  // namespace hapax
