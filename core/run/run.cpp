#include "core/run/run.hpp"

#include <utility>

namespace tofstream {

Run::Run(Pipeline checked, const RunSettings& settings)
    : pipeline(std::move(checked)),
      turns(settings.turns ? std::make_unique<Turns::Place>(settings.turns) : nullptr),
      control(pipeline, state, graph, dispatch),
      graph(pipeline, settings.output_dir.empty() ? "." : settings.output_dir, state, control),
      dispatch(state, graph),
      delivery(state, graph, dispatch),
      workers(state, graph, dispatch, delivery, settings.observer) {
  for (const auto& node : graph.nodes()) {
    GadgetRecord& record = node->record;
    record.turns = turns.get();
    if (!settings.name.empty()) record.label = settings.name + ": " + node->name();
    if (settings.observer)
      record.on_span = [observer = settings.observer, index = node->index](auto... what) {
        observer->span(index, what...);
      };
  }
}

void Run::watch_files(const std::function<void()>& changed) {
  for (const auto& node : graph.nodes()) node->record.on_file = changed;
}

void Run::abandon() {
  workers.abandon();
  if (turns) turns->leave();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
