#include "core/engine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/log.hpp"
#include "core/scheduler.hpp"

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_stalls = 100;  // that are reported: a run that stands still for a day says enough by then

// The folder exists and takes files; a report of an earlier run there must not pass for this one's. True where it was
// made.
bool prepare_output(const std::filesystem::path& dir) {
  const bool made = std::filesystem::create_directories(dir);
  AtomicFile(dir / "run.json").write("{}");
  std::filesystem::remove(dir / "run.json");
  return made;
}

}  // namespace

Engine::Engine(Pipeline pipeline, EngineOptions options)
    : options_(std::move(options)), scheduler_(std::make_shared<Scheduler>(std::move(pipeline), options_)) {}

Engine::~Engine() {
  scheduler_.reset();
  std::error_code not_empty;  // then it is not ours to remove
  if (made_output_dir_ && !began_) std::filesystem::remove(options_.output_dir, not_empty);
}

RunReport Engine::run() {
  const auto started = std::chrono::system_clock::now();
  const Clock::time_point began = Clock::now();
  execute();
  RunReport report = snapshot();
  report.still_running = still_running_;
  report.stalls = stalls_;
  if (!began_) report.errors = early_errors_;
  report.started = started;
  report.ended = std::chrono::system_clock::now();
  report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  finish(report);
  return report;
}

void Engine::execute() {
  try {
    if (!options_.output_dir.empty()) made_output_dir_ = prepare_output(options_.output_dir);
  } catch (const std::exception& error) {
    early_errors_.push_back({"", fmt::format("output folder: {}", one_line(error.what())), {}, std::nullopt});
    return;
  }
  if (options_.opened) options_.opened(*scheduler_);
  early_errors_ = scheduler_->construct();
  if (!early_errors_.empty()) return;
  began_ = true;
  if (options_.observer) options_.observer->run_begins(scheduler_->pipeline());
  scheduler_->launch();
  wait_for_end();
  if (options_.observer) options_.observer->run_ends();
}

// Until the run has ended, is stopping or was cancelled; true where it has ended.
bool Engine::wait_watching_for_stalls() {
  const Clock::time_point began = Clock::now();
  Clock::time_point moved = began;
  auto pause = options_.stall_report;  // which doubles while nothing moves: once is news, a thousand times is noise
  for (std::uint64_t moves = scheduler_->moves();;) {
    if (scheduler_->wait(Clock::now() + pause, true, true)) return true;
    if (scheduler_->stopping() || scheduler_->cancelled()) return false;
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    if (const std::uint64_t now = scheduler_->moves(); now != moves || scheduler_->waits_outside()) {
      moves = now;
      moved = Clock::now();
      pause = options_.stall_report;
    } else if (stalls_.size() < most_stalls) {
      stalls_.push_back({seconds(Clock::now() - began), seconds(Clock::now() - moved), scheduler_->state_in_words()});
      pause *= 2;
      program_log().warn("{}{}no message has moved for {:.1f} s: {}", options_.name, options_.name.empty() ? "" : ": ",
                         stalls_.back().seconds, stalls_.back().state);
    }
  }
}

void Engine::wait_for_end() {
  bool finished = wait_watching_for_stalls();
  if (!finished && !scheduler_->cancelled()) {  // stopping
    finished = scheduler_->wait(Clock::now() + options_.stop_deadline, false, true);
    if (!finished && !scheduler_->cancelled())
      scheduler_->cancel(RunError{"",
                                  fmt::format("did not drain within {} s of being stopped; in work: {}",
                                              std::chrono::duration<double>(options_.stop_deadline).count(),
                                              fmt::join(scheduler_->in_code(), ", ")),
                                  {},
                                  std::nullopt});
  }
  if (!finished)
    finished = scheduler_->wait(Clock::now() + (scheduler_->aborted() ? options_.abort_grace : options_.failure_grace),
                                false, false);
  if (finished) {
    scheduler_->join();
  } else {
    still_running_ = scheduler_->in_code();
    scheduler_->abandon();
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
    report.exit_code = began_ ? exit_run : exit_config;
  if (!began_ || options_.output_dir.empty()) return;  // what did not begin leaves nothing behind
  try {
    write_run_json(report, options_.output_dir);
  } catch (const std::exception& error) {
    report.errors.push_back({"", one_line(error.what()), {}, std::nullopt});
    if (report.exit_code == exit_ok) report.exit_code = exit_run;
  }
}

RunControl& Engine::control() {
  return *scheduler_;
}
RunReport Engine::snapshot() const {
  return scheduler_->snapshot();
}
void Engine::request_stop() {
  scheduler_->request_stop();
}
void Engine::abort() {
  scheduler_->abort();
}
std::vector<Problem> Engine::set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) {
  return scheduler_->set_parameter(gadget, parameter, value);
}

}  // namespace tofstream
