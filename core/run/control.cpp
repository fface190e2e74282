#include "core/run/control.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/pipeline/live_params.hpp"
#include "core/report/books.hpp"
#include "core/run/section.hpp"

namespace tofstream {
namespace {

double seconds(Control::Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

Control::Control(const Pipeline& pipeline, RunState& state, RunGraph& graph, Dispatch& dispatch)
    : pipeline_(pipeline), state_(state), graph_(graph), dispatch_(dispatch) {
  for (const PipelineGadget& gadget : pipeline.gadgets) parameters_.push_back(gadget.resolved);
  counts_.add(0, {});
}

void Control::set_folder(std::filesystem::path output_dir, const std::vector<std::string>& more_files) {
  output_dir_ = std::move(output_dir);
  for (const std::string& name : more_files) more_files_.push_back({name, ""});
}

RunReport Control::snapshot() const {
  RunReport report;
  report.output_dir = output_dir_;
  {
    const std::lock_guard lock(parameters_mutex_);
    report.changes = changes_.changes();
  }
  read_figures(report);
  report.books = settle_books(pipeline_, report.gadgets, report.edges);
  return report;
}

void Control::read_figures(RunReport& report) const {
  report.pipeline = pipeline_.name;
  report.resolved = pipeline_.resolved;
  const std::lock_guard lock(state_.mutex);
  read_graph(report);
  const CountPoint now = count_now();
  report.phase = phase(report);
  report.started = started_;
  if (began_ != Clock::time_point{}) report.seconds = seconds(Clock::now() - began_);
  if (state_.data_began) report.data_seconds = seconds(Clock::now() - *state_.data_began);
  report.errors = state_.errors;
  report.running_at_cancel = state_.running_at_cancel;
  report.counts.assign(counts_.entries().begin(), counts_.entries().end());
  if (now.seconds > report.counts.back().seconds) report.counts.push_back(now);
  report.stopped = state_.stopping;
  report.aborted = state_.aborted;
}

// With the lock held, as all that follows.
void Control::read_graph(RunReport& report) const {
  LatencyHistogram latency;
  const Clock::time_point now = Clock::now();
  for (const auto& node : graph_.nodes()) {
    const NodeFigures& figures = node->figures;
    report.gadgets.push_back({node->name(), node->info().name, figures.messages_in, figures.messages_out,
                              figures.events_in, figures.events_out, seconds(figures.busy + node->busy_in_job(now)),
                              seconds(node->waited_output(now)), node->record.books(), node->record.figures(),
                              node->record.progress(), node->record.waiting()});
    latency.add(figures.latency);
    for (std::string& file : node->record.files()) report.files.push_back({std::move(file), node->name()});
  }
  for (const auto& edge : graph_.edges())
    report.edges.push_back({edge->description().name, edge->description().settings, edge->figures()});
  report.files.insert(report.files.end(), more_files_.begin(), more_files_.end());
  report.latency = {latency.count(), latency.quantile_seconds(0.5), latency.quantile_seconds(0.99),
                    latency.max_seconds()};
}

CountPoint Control::count_now() const {
  CountPoint now;
  if (began_ != Clock::time_point{}) now.seconds = seconds(Clock::now() - began_);
  GadgetReport report;
  for (const auto& node : graph_.nodes()) {
    report.books = node->record.books();
    report.events_out = node->figures.events_out;
    now.events += events_received(node->info(), report);
  }
  if (now.events > 0) state_.note_data();
  return now;
}

// The phase follows from what the report says of the gadgets: a run that waits then always says what for.
RunPhase Control::phase(const RunReport& report) const {
  if (state_.cancelled) return RunPhase::ending;
  if (!state_.launched) return RunPhase::preparing;
  if (state_.stopping) return RunPhase::stopping;
  const bool waits = std::ranges::any_of(report.gadgets, [](const auto& gadget) { return !gadget.waiting.empty(); });
  return !state_.data_began && waits ? RunPhase::waiting : RunPhase::running;
}

std::vector<LiveParameter> Control::live_parameters() const {
  std::vector<LiveParameter> all;
  const std::lock_guard lock(parameters_mutex_);
  for (std::size_t i = 0; i < pipeline_.gadgets.size(); ++i) {
    const PipelineGadget& gadget = pipeline_.gadgets[i];
    for (const ParamInfo& param : gadget.info->params)
      if (const Value* value = parameters_[i].find(param.name); param.rules.is_live && value)
        all.push_back({gadget.name, &param, *value});
  }
  return all;
}

std::vector<Problem> Control::set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) {
  const std::vector<PipelineGadget>& gadgets = pipeline_.gadgets;
  const auto found = std::ranges::find(gadgets, gadget, &PipelineGadget::name);
  Problems problems;
  if (found == gadgets.end()) {
    std::vector<std::string> names;
    for (const PipelineGadget& other : gadgets) names.push_back(other.name);
    problems.add(value.where, fmt::format("no gadget is called '{}'{}", gadget, did_you_mean(gadget, names)));
    return problems.all();
  }
  const auto index = static_cast<std::size_t>(found - gadgets.begin());
  const std::lock_guard lock(parameters_mutex_);
  Value wanted = parameters_[index];
  std::shared_ptr<const void> params = changed_params(*found, parameter, value, wanted, problems);
  if (!problems.empty()) return problems.all();
  parameters_[index] = std::move(wanted);
  changes_.add({std::chrono::system_clock::now(), found->name, std::string(parameter), value});
  const std::lock_guard graph_lock(state_.mutex);
  graph_.nodes()[index]->new_params = std::move(params);
  return {};
}

void Control::request_stop() {
  Section section(dispatch_);
  state_.stopping = true;
  section.stop_sources_on_leaving();
  state_.changed.notify_all();
  for (const auto& node : graph_.nodes()) section.touch(*node);
}

void Control::abort() {
  Section section(dispatch_);
  if (!state_.cancelled) state_.ended_from_outside = true;
  dispatch_.cancel(section, std::nullopt);
}

void Control::fail(RunError error) {
  Section section(dispatch_);
  if (!state_.cancelled) state_.ended_from_outside = true;
  dispatch_.cancel(section, std::move(error));
}

void Control::cancel(RunError error) {
  Section section(dispatch_);
  dispatch_.cancel(section, std::move(error));
}

void Control::begin() {
  const std::lock_guard lock(state_.mutex);
  started_ = std::chrono::system_clock::now();
  began_ = Clock::now();
}

bool Control::wait(std::optional<Clock::time_point> deadline, bool until_stop, bool until_cancel) {
  std::unique_lock lock(state_.mutex);
  const auto done = [&] {
    return state_.finished || (until_stop && state_.stopping) || (until_cancel && state_.cancelled);
  };
  const auto of_run = [&](double s) {
    return began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  };
  while (!done()) {
    const Clock::time_point until = of_run(counts_.due());
    if (state_.changed.wait_until(lock, deadline ? std::min(*deadline, until) : until, done)) break;
    if (deadline && Clock::now() >= *deadline) break;
    const CountPoint now = count_now();
    counts_.add(now.seconds, now);
  }
  return state_.finished;
}

bool Control::stopping() const {
  const std::lock_guard lock(state_.mutex);
  return state_.stopping;
}

bool Control::ended_from_outside() const {
  const std::lock_guard lock(state_.mutex);
  return state_.ended_from_outside;
}

std::uint64_t Control::moves() const {
  const std::lock_guard lock(state_.mutex);
  return state_.moves + graph_.progress_changes();
}

bool Control::waits_outside() const {
  const std::lock_guard lock(state_.mutex);
  return graph_.waits_outside();
}

std::string Control::state_in_words() const {
  const std::lock_guard lock(state_.mutex);
  return graph_.state_in_words();
}

std::vector<std::string> Control::in_code() const {
  const std::lock_guard lock(state_.mutex);
  return graph_.in_code();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
