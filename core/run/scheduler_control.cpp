// The scheduler as RunControl: figures of a run as they stand, live parameters, stop and abort.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/pipeline/live_params.hpp"
#include "core/report/books.hpp"
#include "core/run/scheduler_section.hpp"

namespace tofstream {

RunReport Scheduler::snapshot() const {
  RunReport report;
  {
    const std::lock_guard lock(parameters_mutex_);
    report.changes = changes_.changes();
  }
  read_figures(report);
  report.books = settle_books(pipeline_, report.gadgets, report.edges);
  return report;
}

void Scheduler::read_figures(RunReport& report) const {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  report.pipeline = pipeline_.name;
  report.resolved = pipeline_.resolved;
  LatencyHistogram latency;
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    const NodeFigures& figures = node->figures;
    report.gadgets.push_back({node->name(), node->info().name, figures.messages_in, figures.messages_out,
                              figures.events_in, figures.events_out, seconds(figures.busy),
                              seconds(figures.waiting_output), node->record.books(), node->record.figures(),
                              node->record.progress()});
    latency.add(figures.latency);
    for (std::string& file : node->record.files()) report.files.push_back({std::move(file), node->name()});
  }
  for (const auto& edge : edges_)
    report.edges.push_back({edge->description().name, edge->description().settings, edge->figures()});
  report.latency = {latency.count(), latency.quantile_seconds(0.5), latency.quantile_seconds(0.99),
                    latency.max_seconds()};
  report.phase = phase();
  report.started = started_;
  if (began_ != Clock::time_point{}) report.seconds = seconds(Clock::now() - began_);
  report.errors = errors_;
  report.running_at_cancel = running_at_cancel_;
  report.counts.assign(counts_.entries().begin(), counts_.entries().end());
  if (const CountPoint now = count_now(); now.seconds > report.counts.back().seconds) report.counts.push_back(now);
  report.stopped = stopping_;
  report.aborted = aborted_;
}

// With the lock held.
CountPoint Scheduler::count_now() const {
  CountPoint now;
  if (began_ != Clock::time_point{}) now.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  GadgetReport report;
  for (const auto& node : nodes_) {
    report.books = node->record.books();
    report.events_out = node->figures.events_out;
    now.events += events_received(node->info(), report);
  }
  return now;
}

RunPhase Scheduler::phase() const {
  if (cancelled_) return RunPhase::ending;
  if (!launched_) return RunPhase::preparing;
  return stopping_ ? RunPhase::stopping : RunPhase::running;
}

std::vector<LiveParameter> Scheduler::live_parameters() const {
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

std::vector<Problem> Scheduler::set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) {
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
  const std::lock_guard graph_lock(mutex_);
  nodes_[index]->new_params = std::move(params);
  return {};
}

// Sets the sources' stop tokens; the rest drains and flushes as at the end of the stream.
void Scheduler::request_stop() {
  Section section(*this);
  stopping_ = true;
  section.stop_sources_on_leaving();
  changed_.notify_all();
  for (const auto& node : nodes_) section.touch(*node);
}

void Scheduler::abort() {
  cancel(std::nullopt);
}

}  // namespace tofstream
