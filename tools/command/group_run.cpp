// Groups as the first process sees them: see group_run.hpp.
#include "tools/command/group_run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/log.hpp"
#include "gadgets/ranks/frame_groups.hpp"
#include "tools/command/errors.hpp"
#include "tools/command/group_command.hpp"
#include "tools/command/group_share.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;

std::vector<RankIdentity> identities_of(const RankGroup& groups) {
  std::vector<RankIdentity> all;
  for (int group = 1; group < groups.ranks(); ++group) all.push_back(groups.identity(group));
  return all;
}

// What a group that was told of the end is just writing may still appear.
void remove_folder(const fs::path& folder) {
  std::error_code none;
  for (int looks = 0; looks < 40; ++looks) {
    fs::remove_all(folder, none);
    if (!fs::exists(folder, none)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

class GroupRun::State {
 public:
  State(const Pipeline& pipeline, RankGroup& groups, GroupProcesses* started)
      : groups_(groups),
        started_(started),
        gadgets_(gadgets_of_groups(pipeline)),
        shares_(from_input([&] { return shares_of_hosts(identities_of(groups), gpus_of_group(pipeline)); })) {}
  ~State() { end(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void begin(const fs::path& output_dir) {
    folder_ = fs::absolute(output_dir).lexically_normal() / ".groups";
    fs::remove_all(folder_);  // of a run that was killed
    const fs::path folder = make_folder_of_groups(folder_);
    own_.emplace(folder, 0, groups_.ranks() - 1);
    in_use_.emplace(*own_);
    groups_.when_logged([this](const std::string& level, const std::string& text) { pass_on(level, text); });
    for (int group = 1; group < groups_.ranks(); ++group) {
      wire::PackWriter to;
      to.value(shares_[static_cast<std::size_t>(group - 1)]);
      to.text(folder.string());
      RankChannel(groups_, group, 0).send(RankMessageKind::share, to.take());
    }
    const RankWait wait{.patience = [] { return std::chrono::seconds(30); }};
    for (int group = 1; group < groups_.ranks(); ++group)
      static_cast<void>(RankChannel(groups_, group, 0).answer(RankMessageKind::ready, wait));
  }

  void end() {
    groups_.when_logged({});
    if (started_) started_->end();
    in_use_.reset();
    if (!folder_.empty()) remove_folder(std::exchange(folder_, {}));
  }

 private:
  // What several groups say alike is said once. From the thread of their socket.
  void pass_on(const std::string& level, const std::string& text) {
    const bool is_of_groups =
        std::ranges::any_of(gadgets_, [&](const std::string& name) { return text.starts_with(name + ": "); });
    if (is_of_groups && passed_on_.insert(text).second) program_log().log(spdlog::level::from_str(level), "{}", text);
  }

  RankGroup& groups_;
  GroupProcesses* const started_;
  const std::vector<std::string> gadgets_;
  const std::vector<HostShare> shares_;
  fs::path folder_;
  std::optional<FrameGroups> own_;
  std::optional<FrameGroupsInUse> in_use_;
  std::set<std::string> passed_on_;
};

GroupRun::GroupRun(const Pipeline& pipeline, RankGroup& groups, GroupProcesses* started)
    : state_(std::make_unique<State>(pipeline, groups, started)) {}
GroupRun::~GroupRun() = default;

void GroupRun::begin(const fs::path& output_dir) {
  state_->begin(output_dir);
}

void GroupRun::end() {
  state_->end();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
