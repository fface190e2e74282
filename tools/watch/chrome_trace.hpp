// A run's calls, waits and spans as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing show: the JSON array
// of the Trace Event Format, one track a thread and one for each track that a gadget reports spans on.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "core/base/atomic_file.hpp"
#include "core/run/observer.hpp"

namespace tofstream {

class ChromeTrace final : public Observer {
 public:
  /// Opens a temporary file beside `path`; it gets its name when the run ends. Throws std::system_error.
  explicit ChromeTrace(const std::filesystem::path& path);

  void run_begins(const Pipeline& pipeline) override;
  void run_ends() override;
  void call_ends(std::size_t gadget, CallKind kind, const MessageInfo& info, Clock::time_point began,
                 Clock::time_point ended) override;
  void waited(std::size_t gadget, WaitKind kind, Clock::time_point began, Clock::time_point ended) override;
  void span(std::size_t gadget, std::string_view track, std::string_view name, Clock::time_point began,
            Clock::time_point ended) override;

 private:
  using Json = nlohmann::ordered_json;

  void add_slice(const std::string& name, const char* category, int track, Clock::time_point began,
                 Clock::time_point ended, Json arguments);
  int track_of_this_thread(std::size_t gadget);
  int track(const std::string& key, const std::string& name);
  void write(const Json& event);
  void flush();

  std::mutex mutex_;
  AtomicFile file_;
  std::string text_;  // not yet in the file
  bool has_events_ = false;
  const Pipeline* pipeline_ = nullptr;
  Clock::time_point began_;
  std::map<std::string, int> tracks_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
