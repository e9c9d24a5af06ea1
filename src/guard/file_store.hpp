// FileGuardStore: guard records shared by the processes of one machine, one file per record (guard/file_place.hpp).
//
// Heartbeats and takeover use the kernel's time since boot, which all processes share and nobody can set: a jump of
// the machine's clock causes no takeover. A record of an earlier boot has no living holder. Times that are shown, and
// ttl, use the machine's clock, as they must outlive a boot: if that clock jumps ahead, records expire early. Any
// thread.
#pragma once

#include <hapax/guard_store.hpp>

#include "guard/file_place.hpp"
#include "guard/file_record.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace hapax::guard {

class MachineClock {
 public:
  virtual ~MachineClock() = default;
  [[nodiscard]] virtual Time now() const = 0;
  [[nodiscard]] virtual Duration since_boot() const = 0;
  [[nodiscard]] virtual std::string boot() const = 0;  // a different text after each start of the machine
};

class KernelClock final : public MachineClock {
 public:
  [[nodiscard]] Time now() const override;
  [[nodiscard]] Duration since_boot() const override;
  [[nodiscard]] std::string boot() const override;
};

class FileGuardStore final : public GuardStore {
 public:
  FileGuardStore(const std::string& folder, const FileGuardOptions& options,
                 std::shared_ptr<const MachineClock> clock = std::make_shared<KernelClock>());

  [[nodiscard]] GuardAnswer begin(const GuardBegin& request) override;
  [[nodiscard]] std::vector<std::size_t> beat(std::span<const GuardHold> held) override;
  [[nodiscard]] GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) override;
  [[nodiscard]] std::optional<GuardRecord> read(const GuardKey& key) override;
  [[nodiscard]] GuardPage list(const GuardQuery& query) override;
  GuardForgotten forget(const GuardKey& key, bool even_in_progress) override;
  std::size_t sweep(std::size_t limit) override;
  [[nodiscard]] GuardStoreInfo info() const override;

 private:
  enum class Beaten : std::uint8_t { renewed, lost, busy };
  [[nodiscard]] Beaten beat_one(const GuardHold& hold) const;
  // Removes an expired record; true: it did. Throws what reading the record throws.
  [[nodiscard]] bool sweep_one(const FileName& name);
  // The view is valid as long as the text.
  [[nodiscard]] static RecordView view(const std::string& path, const FileText& text);
  [[nodiscard]] std::optional<FileRecord> load(const std::string& path) const;
  [[nodiscard]] bool meet_unlocked(const FileName& name, const GuardBegin& request, GuardAnswer& met) const;
  [[nodiscard]] Duration heartbeat_age(const FileRecord& file) const;
  void meet_record(FileRecord& file, const GuardBegin& request, GuardAnswer& answer) const;
  void start(const FileName& name, const GuardBegin& request, const std::optional<FileRecord>& before,
             GuardAnswer& answer);
  [[nodiscard]] GuardRecord shown(FileRecord& file) const;  // moves the record out of `file`

  const Duration lock_timeout_;
  FilePlace place_;
  const bool sync_;
  const std::shared_ptr<const MachineClock> clock_;
  const std::string boot_;
  std::atomic<std::size_t> sweep_from_{0};
};

}  // namespace hapax::guard
