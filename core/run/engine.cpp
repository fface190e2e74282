#include "core/run/engine.hpp"

#include <algorithm>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/base/log.hpp"
#include "core/run/run.hpp"

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_stalls = 100;  // that are reported: a run that stands still for a day says enough by then

}  // namespace

// The output folder and its run.json, from the run's beginning to its end. run.json lists a file of the run before that
// file is there, so that whatever a kill leaves behind is known to be this run's.
class RunJsonFile {
 public:
  RunJsonFile(const EngineOptions& options, std::string_view run)
      : folder_(options.output_dir, run, options.earlier_run), more_files_(options.more_files) {}

  // A file that is in the way, or a full disk, is found before anything of an earlier run is touched.
  void begin(RunReport report, const Value& parameters) {
    const std::lock_guard lock(mutex_);
    const std::vector<RunFile> own = report.files;
    append(report, folder_.resumed());
    report.phase = RunPhase::running;
    AtomicFile file(folder_.path() / "run.json");
    file.write(run_json(report));
    folder_.begin(own, parameters);
    file.commit(AtomicFile::Flush::later);  // data wait for it, and it is written again at the end
  }
  // The run has got another file.
  void update(const RunControl& run) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    RunReport report = run.snapshot();
    report.phase = RunPhase::running;
    append(report, folder_.resumed());
    AtomicFile file(folder_.path() / "run.json");
    file.write(run_json(report));
    file.commit(AtomicFile::Flush::later);
  }
  // Lists the files that are there and those that the caller has yet to write; all, where threads are left that may write.
  void end(RunReport& report) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    append(report, folder_.resumed());
    if (report.still_running.empty())
      std::erase_if(report.files, [&](const RunFile& file) {
        std::error_code wrong;
        const bool is_later = std::ranges::find(more_files_, file.name) != more_files_.end();
        return !is_later && !std::filesystem::exists(folder_.path() / file.name, wrong);
      });
    write_run_json(report, folder_.path());
  }

 private:
  static void append(RunReport& report, const std::vector<RunFile>& files) {
    for (const RunFile& file : files)
      if (std::ranges::find(report.files, file.name, &RunFile::name) == report.files.end())
        report.files.push_back(file);
  }

  RunFolder folder_;
  const std::vector<std::string> more_files_;
  std::mutex mutex_;
  bool ended_ = false;
};

Engine::Engine(Pipeline pipeline, EngineOptions options)
    : options_(std::move(options)),
      run_(std::make_shared<Run>(std::move(pipeline),
                                 RunSettings{options_.output_dir, options_.name, options_.observer, options_.turns})) {
  run_->control.set_folder(options_.output_dir, options_.more_files);
}

Engine::~Engine() {
  run_.reset();  // gadgets go before the lock of the folder that they write to
}

RunReport Engine::run() {
  const auto started = std::chrono::system_clock::now();
  const Clock::time_point began = Clock::now();
  execute();
  RunReport report = snapshot();
  report.began = began_;
  report.still_running = still_running_;
  report.stalls = stalls_;
  report.errors.insert(report.errors.end(), early_errors_.begin(), early_errors_.end());
  report.started = started;
  report.ended = std::chrono::system_clock::now();
  report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  finish(report);
  return report;
}

void Engine::execute() {
  if (!prepare() || !tell_opened()) return;
  run_->control.begin();
  early_errors_ = run_->graph.construct();
  if (!early_errors_.empty() || run_->control.cancelled() || !begin()) return;
  began_ = true;
  if (options_.observer) options_.observer->run_begins(run_->pipeline);
  run_->workers.launch(run_);
  wait_for_end();
  if (options_.observer) options_.observer->run_ends();
}

// The folder is there, and ours alone.
bool Engine::prepare() try {
  if (!options_.output_dir.empty()) run_json_ = std::make_shared<RunJsonFile>(options_, run_->pipeline.name);
  return true;
} catch (const std::exception& error) {
  early_errors_.push_back({"", one_line(error.what()), {}, std::nullopt});
  return false;
}

bool Engine::tell_opened() try {
  if (options_.opened) options_.opened(run_->control);
  return true;
} catch (const std::exception& error) {
  early_errors_.push_back({"", one_line(error.what()), {}, std::nullopt});
  return false;
}

// The folder is this run's.
bool Engine::begin() try {
  if (!run_json_) return true;
  Value parameters = Value::sequence();
  for (const PipelineGadget& gadget : run_->pipeline.gadgets) parameters.items.push_back(gadget.resolved);
  run_json_->begin(snapshot(), parameters);
  // The control outlives the gadgets' records, which call this.
  run_->watch_files([file = run_json_, &control = run_->control] { file->update(control); });
  return true;
} catch (const std::exception& error) {
  early_errors_.push_back({"", one_line(error.what()), {}, std::nullopt});
  return false;
}

// Until the run has ended, is stopping or was cancelled; true where it has ended.
bool Engine::wait_watching_for_stalls() {
  Control& control = run_->control;
  const Clock::time_point began = Clock::now();
  Clock::time_point moved = began;
  auto pause = options_.stall_report;  // which doubles while nothing moves: once is news, a thousand times is noise
  for (std::uint64_t moves = control.moves();;) {
    if (control.wait(Clock::now() + pause, true, true)) return true;
    if (control.stopping() || control.cancelled()) return false;
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    if (const std::uint64_t now = control.moves(); now != moves || control.waits_outside()) {
      moves = now;
      moved = Clock::now();
      pause = options_.stall_report;
    } else if (stalls_.size() < most_stalls) {
      stalls_.push_back({seconds(Clock::now() - began), seconds(Clock::now() - moved), control.state_in_words()});
      pause *= 2;
      program_log().warn("{}{}no message has moved for {:.1f} s: {}", options_.name, options_.name.empty() ? "" : ": ",
                         stalls_.back().seconds, stalls_.back().state);
    }
  }
}

void Engine::wait_for_end() {
  Control& control = run_->control;
  bool finished = wait_watching_for_stalls();
  if (!finished && !control.cancelled()) {  // stopping
    finished = control.wait(Clock::now() + options_.stop_deadline, false, true);
    if (!finished && !control.cancelled())
      control.cancel(RunError{"",
                              fmt::format("did not drain within {} s of being stopped; in work: {}",
                                          std::chrono::duration<double>(options_.stop_deadline).count(),
                                          fmt::join(control.in_code(), ", ")),
                              {},
                              std::nullopt});
  }
  if (!finished)
    finished = control.wait(
        Clock::now() + (control.ended_from_outside() ? options_.abort_grace : options_.failure_grace), false, false);
  if (finished) {
    run_->workers.join();
  } else {
    still_running_ = control.in_code();
    run_->abandon();
  }
}

// Books, exit code, run.json and the log.
void Engine::finish(RunReport& report) {
  report.phase = RunPhase::over;
  const bool complete = began_ && !report.aborted && report.errors.empty();
  if (complete && !report.books.balanced())
    report.errors.push_back({"", "the books do not balance: " + report.books.difference, {}, std::nullopt});
  if (report.aborted)
    report.exit_code = exit_abort;
  else if (!report.errors.empty())
    report.exit_code = began_ || early_errors_.empty() ? exit_run : exit_config;
  if (!began_ || !run_json_) return;  // what did not begin leaves nothing behind
  try {
    run_json_->end(report);
  } catch (const std::exception& error) {
    report.errors.push_back({"", one_line(error.what()), {}, std::nullopt});
    if (report.exit_code == exit_ok) report.exit_code = exit_run;
  }
}

RunControl& Engine::control() {
  return run_->control;
}
RunReport Engine::snapshot() const {
  return run_->control.snapshot();
}
void Engine::request_stop() {
  run_->control.request_stop();
}
void Engine::abort() {
  run_->control.abort();
}
std::vector<Problem> Engine::set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) {
  return run_->control.set_parameter(gadget, parameter, value);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
