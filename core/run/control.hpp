// The run as those see it who watch and steer it: figures as they stand, live parameters, stop and abort, and for the
// engine the wait for the end. Safe from any thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/even_series.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"
#include "core/run/dispatch.hpp"
#include "core/run/run_control.hpp"
#include "core/run/run_graph.hpp"
#include "core/run/run_state.hpp"

namespace tofstream {

class Control final : public RunControl {
 public:
  using Clock = std::chrono::steady_clock;

  // All of them outlive it, but the graph's destructor may still call it. The graph and the dispatch may be constructed
  // later.
  Control(const Pipeline& pipeline, RunState& state, RunGraph& graph, Dispatch& dispatch);

  const Pipeline& pipeline() const override { return pipeline_; }
  RunReport snapshot() const override;
  std::vector<LiveParameter> live_parameters() const override;
  std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) override;
  // Stops the sources' tokens; the rest drains and flushes as at the end of the stream.
  void request_stop() override;
  void abort() override;
  void fail(RunError error) override;
  // Drops everything, because of this error.
  void cancel(RunError error);

  // Where the run's files are, and those that are no gadget's; for reports. Before all else.
  void set_folder(std::filesystem::path output_dir, const std::vector<std::string>& more_files);
  // The run's clock begins: before gadgets are constructed.
  void begin();
  // Waits until every gadget has ended, or after a cancellation until no gadget code runs: true.
  // False at the deadline, and where asked for as soon as the run is stopping or cancelled.
  bool wait(std::optional<Clock::time_point> deadline, bool until_stop, bool until_cancel);

  bool stopping() const;
  bool cancelled() const { return state_.cancelled; }
  // By abort() or fail(): gadgets in their own code are not waited for as long.
  bool ended_from_outside() const;
  // Grows whenever a message is taken or given, and whenever a gadget's progress changes.
  std::uint64_t moves() const;
  // As RunGraph has them.
  bool waits_outside() const;
  std::string state_in_words() const;
  std::vector<std::string> in_code() const;

 private:
  void read_figures(RunReport& report) const;
  void read_graph(RunReport& report) const;
  RunPhase phase(const RunReport& report) const;
  CountPoint count_now() const;

  const Pipeline& pipeline_;
  RunState& state_;
  RunGraph& graph_;
  Dispatch& dispatch_;

  std::filesystem::path output_dir_;
  std::vector<RunFile> more_files_;

  mutable std::mutex parameters_mutex_;  // taken before that of the state
  std::vector<Value> parameters_;        // of each gadget, as they were set last
  ParameterHistory changes_;

  // Guarded by the state's lock.
  std::chrono::system_clock::time_point started_;
  Clock::time_point began_;
  EvenSeries<CountPoint> counts_{400, 0.1};  // a tenth of a second apart, or more in a long run
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
