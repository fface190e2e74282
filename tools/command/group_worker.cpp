// A group's life: see group_worker.hpp.
#include "tools/command/group_worker.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>

#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/run/engine.hpp"
#include "gadgets/ranks/frame_groups.hpp"
#include "tools/command/group_command.hpp"
#include "tools/command/group_share.hpp"
#include "tools/command/link_to_first.hpp"

namespace tofstream::command {

namespace {

using namespace std::chrono_literals;

class LogOfFirst final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogOfFirst(LinkToFirst& link) : link_(link) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto level = spdlog::level::to_string_view(message.level);
    wire::PackWriter to;
    to.text(std::string(level.data(), level.size()));
    to.text(std::string(message.payload.data(), message.payload.size()));
    link_.send(RankMessageKind::log, 0, to.take());
  }
  void flush_() override {}

  LinkToFirst& link_;
};

class Group {
 public:
  Group(const WorkerSettings& settings, bool ends_with_first)
      : settings_(settings),
        link_({.own = settings.own,
               .endpoint = settings.endpoint,
               .keys = settings.keys,
               .patience = settings.patience,
               .each = "group",
               .ends_with_first = ends_with_first,
               .drops_work = true}) {}
  ~Group() { program_log().sinks().clear(); }  // which use the link
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int work() {
    if (!link_.join()) return exit_config;
    while (true) {
      const RankMessage message = link_.next();
      if (message.kind == RankMessageKind::end) return LinkToFirst::code_of(message);
      if (message.kind == RankMessageKind::share) take_part(message);
    }
  }

 private:
  void take_part(const RankMessage& message) try {
    wire::PackReader from(*message.body);
    const auto share = from.value<HostShare>();
    const std::filesystem::path folder = from.text();
    from.require_end();
    if (!sees_folder_of_groups(folder, 3s))
      throw std::runtime_error(
          fmt::format("it does not see the folder {} of the first process: name one by --out that is on a disk of all "
                      "hosts, and there by the same path",
                      folder.parent_path().parent_path().string()));
    take_share(share);
    link_.send(RankMessageKind::ready, 0, packed_text(""));
    program_log().sinks() = {std::make_shared<LogOfFirst>(link_)};
    reconstruct(folder);
  } catch (const std::exception& error) {
    fail(error.what());
  }

  void reconstruct(const std::filesystem::path& folder) {
    const int group = settings_.own.place.rank;
    const FrameGroups own(folder, group, settings_.own.place.ranks - 1);
    const FrameGroupsInUse in_use(own);
    Engine engine(part_of_group(settings_.pipeline, group),
                  {.output_dir = folder / std::to_string(group), .failure_grace = 2s});
    const RunReport report = engine.run();
    // What is wrong with a pipeline or a file the first finds too, and says itself.
    if (!report.began) std::this_thread::sleep_for(1s);
    if (report.exit_code != exit_ok)
      fail(report.errors.empty() ? fmt::format("it ended with exit code {}", report.exit_code)
                                 : report.errors.front().text());
    if (report.still_running.empty()) return;
    while (true)  // threads are left in gadget code
      if (const RankMessage message = link_.next(); message.kind == RankMessageKind::end)
        std::_Exit(LinkToFirst::code_of(message));
  }

  void fail(const std::string& why) { link_.send(RankMessageKind::failed, 0, packed_text(why)); }

  const WorkerSettings& settings_;
  LinkToFirst link_;
};

}  // namespace

int work_as_group(const WorkerSettings& settings, bool ends_with_first) try {
  Group group(settings, ends_with_first);
  return group.work();
} catch (const std::exception& error) {
  fmt::print(stderr, "group {} of {}, on {}: {}\n", settings.own.place.rank, settings.own.place.ranks - 1,
             settings.own.host, printable(error.what()));
  return exit_config;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
