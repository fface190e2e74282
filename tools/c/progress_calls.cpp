// Tells the host how far a run is: see progress_calls.hpp.
#include "tools/c/progress_calls.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/report/run_progress.hpp"
#include "gadgets/step/updates_figure.hpp"
#include "tools/c/guard.hpp"

namespace tofstream::c_api {
namespace {

std::chrono::duration<double> time_between(double every_s) {
  constexpr double at_least = 0.01, usual = 0.25, a_year = 3.2e7;
  if (every_s == 0) return std::chrono::duration<double>(usual);
  if (every_s >= at_least) return std::chrono::duration<double>(std::min(every_s, a_year));
  throw Wrong(fmt::format("setup.progress_every_s is {}: it must be at least {}, or 0", every_s, at_least));
}

std::int32_t phase_of(RunPhase phase) {
  switch (phase) {
    case RunPhase::preparing:
      return TOF_PREPARING;
    case RunPhase::waiting:
      return TOF_WAITING;
    case RunPhase::running:
      return TOF_RUNNING;
    case RunPhase::stopping:
      return TOF_STOPPING;
    case RunPhase::ending:
      return TOF_ENDING;
    case RunPhase::over:
      break;
  }
  return TOF_OVER;
}

// The scan's time, as its reader or simulator reports it.
double scan_seconds_of(const RunReport& report) {
  for (const char* key : {"scan_s", "seconds"})
    for (const GadgetReport& gadget : report.gadgets)
      if (const auto figure = gadget.figures.find(key); figure != gadget.figures.end())
        if (const double* seconds = std::get_if<double>(&figure->second)) return *seconds;
  return 0;
}

// Where several steps make updates, of the one that is the least far.
void note_updates(const RunReport& report, tof_progress& progress) {
  for (const GadgetReport& gadget : report.gadgets) {
    const Progress& p = gadget.progress;
    if (!gadget.figures.contains(updates_figure) || p.unit != updates_unit) continue;
    const auto done = static_cast<std::int64_t>(p.done);
    if (progress.update > 0 && done >= progress.update) continue;
    progress.update = done;
    progress.updates = static_cast<std::int64_t>(p.total);
  }
}

}  // namespace

ProgressCalls::ProgressCalls(tof_progress_call call, void* user, double every_s, std::function<RunReport()> state)
    : call_(call), user_(user), every_(time_between(every_s)), state_(std::move(state)) {
  thread_ = std::thread([this] { tell(); });
}

ProgressCalls::~ProgressCalls() {
  stop();
  thread_.join();
}

void ProgressCalls::finish() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void ProgressCalls::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

void ProgressCalls::tell() {
  std::unique_lock lock(mutex_);
  for (bool was_last = false; !was_last;) {
    changed_.wait_for(lock, every_, [&] { return is_over_ || is_stopped_; });
    if (is_stopped_) return;
    was_last = is_over_;
    lock.unlock();
    if (!tell_once()) return;
    lock.lock();
  }
}

bool ProgressCalls::tell_once() {
  const RunReport report = state_();
  const RunProgress at = run_progress(report);
  const std::string text = one_line(at.line);
  tof_progress progress{.size = sizeof(tof_progress),
                        .phase = phase_of(report.phase),
                        .seconds = report.seconds,
                        .scan_seconds = scan_seconds_of(report),
                        .events = report.books.received,
                        .fraction = at.fraction.value_or(-1),
                        .text = text.c_str()};
  for (const GadgetReport& gadget : report.gadgets) progress.messages += gadget.messages_in;
  note_updates(report, progress);
  if (returns([&] { call_(user_, &progress); })) return true;
  program_log().error("an exception left the call that is told the run's progress: it is not made again");
  return false;
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
