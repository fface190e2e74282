// The store behind the contexts of one gadget, in a run and in a unit test: its books, figures, progress and files, and
// what connects it with the run that it is in.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/gadget/context.hpp"
#include "core/gadget/turns.hpp"

namespace tofstream {

class GadgetRecord final : public GadgetServices {
 public:
  using Clock = std::chrono::steady_clock;
  struct PortState {
    std::string name;
    bool is_connected = true;
  };

  // `cancel` is stopped when the run is being ended, `stop` when the run is to end before its stream does; neither ever
  // is if it is left out. `control` is that of the run and outlives the record; null if there is no run.
  explicit GadgetRecord(std::string name, std::filesystem::path output_dir = ".", std::stop_token cancel = {},
                        RunControl* control = nullptr, std::stop_token stop = {});

  const std::string& name() const override { return name_; }
  const std::string& log_name() const override { return label.empty() ? name_ : label; }
  const std::filesystem::path& output_dir() const override { return output_dir_; }
  const std::stop_token& cancel_token() const override { return cancel_; }
  const std::stop_token& stop_token() const override { return stop_; }
  RunControl* control() const override { return control_; }
  void set_waiting_outside(bool waits) override;
  void set_waiting(std::string what) override;
  Turn take_turn() override;

  void book(Account account, std::uint64_t events, std::string_view reason) override;
  void set_figure(std::string_view key, Figure value) override;
  void append_figure(std::string_view key, double value) override;
  void set_progress(Progress progress) override;
  void span(std::string_view track, std::string_view name, Clock::time_point began, Clock::time_point ended) override;
  // A name that leads out of the output folder is left out.
  void own_file(const std::filesystem::path& name) override;

  bool is_connected(std::string_view port) const override;
  // Before the gadget is constructed: all its ports, inputs first. Without this call the ports are unknown, and count
  // as connected.
  void set_ports(std::vector<PortState> ports);
  // Throws std::invalid_argument where the ports are known and there is no such one.
  void disconnect(std::string_view port);

  BookEntries books() const;
  std::map<std::string, Figure> figures() const;
  Progress progress() const;
  // How often the progress has changed: a gadget whose progress grows does not stand still.
  std::uint64_t progress_changes() const { return progress_changes_; }
  // Files of the output folder that the gadget has named as its own, each once, in the order in which it did.
  std::vector<std::string> files() const;
  // The gadget waits for the outside: see Context::wait_outside.
  bool waits_outside() const { return waits_outside_; }
  // How long it has done so, up to `now`.
  Clock::duration waited_outside(Clock::time_point now) const;
  // What it says that it waits for (Context::say_waiting); empty: nothing.
  std::string waiting() const;

  // The following are set before data flows.
  std::string label;              // what log lines begin with; empty: the gadget's name
  Turns::Place* turns = nullptr;  // of the run among others; null: it is alone
  // Called by span(), from any thread.
  std::function<void(std::string_view track, std::string_view name, Clock::time_point, Clock::time_point)> on_span;
  // Called by own_file() for each file that is new, from any thread.
  std::function<void()> on_file;

 private:
  const PortState* find(std::string_view port) const;

  const std::string name_;
  const std::filesystem::path output_dir_;
  const std::stop_token cancel_;
  RunControl* const control_;
  const std::stop_token stop_;
  std::vector<PortState> ports_;
  bool ports_are_known_ = false;
  std::atomic<bool> waits_outside_ = false;
  mutable std::mutex mutex_;
  Clock::time_point waits_since_{};
  Clock::duration waited_outside_{};  // before that
  std::string waiting_;
  BookEntries books_;
  std::map<std::string, Figure> figures_;
  Progress progress_;
  std::atomic<std::uint64_t> progress_changes_ = 0;
  std::vector<std::string> files_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
