// All of one run that its threads share. Threads that are abandoned in gadget code keep it alive.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/gadget/turns.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/run/control.hpp"
#include "core/run/delivery.hpp"
#include "core/run/dispatch.hpp"
#include "core/run/observer.hpp"
#include "core/run/run_graph.hpp"
#include "core/run/run_state.hpp"
#include "core/run/workers.hpp"

namespace tofstream {

struct RunSettings {
  std::filesystem::path output_dir;  // where gadgets write; empty: the working folder
  std::string name;                  // stands before the names of gadgets in the log; may be empty
  Observer* observer = nullptr;      // told of every call, or null
  std::shared_ptr<Turns> turns;      // what runs share by turns, or null
};

struct Run {
  Run(Pipeline checked, const RunSettings& settings);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Before the launch: `changed` is called from any thread when a gadget names a file of its own that is new.
  void watch_files(const std::function<void()>& changed);
  // Lets threads go for good that do not end: other runs wait for no turn of theirs.
  void abandon();

  const Pipeline pipeline;
  const std::unique_ptr<Turns::Place> turns;  // null: nobody to share with
  RunState state;
  Control control;
  RunGraph graph;
  Dispatch dispatch;
  Delivery delivery;
  Workers workers;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
