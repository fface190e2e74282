// Running a pipeline from the command line: see running.hpp.
#include "tools/command/running.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/pipeline/unread.hpp"
#include "core/report/report_json.hpp"
#include "core/report/run_progress.hpp"
#include "core/run/engine.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/signal_watch.hpp"
#include "tools/command/suggestions.hpp"
#include "tools/watch/chrome_trace.hpp"
#include "tools/watch/control_server.hpp"
#include "tools/watch/metrics.hpp"
#include "tools/watch/nvtx_ranges.hpp"
#include "tools/watch/observers.hpp"
#include "tools/watch/report_html.hpp"
#include "tools/watch/run_end.hpp"

namespace tofstream::command {

namespace {

/// Whether a gadget of the pipeline has a parameter of that name.
bool declares(const Pipeline& pipeline, std::string_view name) {
  return std::ranges::any_of(pipeline.gadgets, [&](const PipelineGadget& gadget) {
    return std::ranges::find(gadget.info->params, name, &ParamInfo::name) != gadget.info->params.end();
  });
}

using namespace std::chrono_literals;

// One line that stands for the whole run.
class ProgressLine {
 public:
  explicit ProgressLine(const Engine& engine) : terminal_(::isatty(STDERR_FILENO) != 0) {
    thread_ = std::jthread([this, &engine](const std::stop_token& stop) { show(engine, stop); });
  }
  ~ProgressLine() {
    thread_.request_stop();
    wake_.notify_all();
    thread_.join();
    if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void show(const Engine& engine, const std::stop_token& stop) {
    const auto pause = terminal_ ? 250ms : 10'000ms;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
      if (stop.stop_requested()) return;
      const RunReport now = engine.snapshot();
      // The log has said what it waits for: a file of lines need not repeat it while no data come.
      if (!terminal_ && now.phase == RunPhase::waiting) continue;
      const std::string line = run_progress(now).line;
      if (line.empty()) continue;
      fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", printable(line), terminal_ ? "" : "\n");
      std::fflush(stderr);
      shown_ = true;
    }
  }

  bool terminal_;
  bool shown_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

Observers make_observers(const RunSettings& settings) {
  Observers observers;
  if (!settings.trace.empty()) observers.add(from_input([&] { return std::make_unique<ChromeTrace>(settings.trace); }));
  if (settings.nvtx) {
    observers.add(make_nvtx_ranges());
    if (observers.empty()) throw InputError("--nvtx: this build has no CUDA, and so no NVTX");
  }
  return observers;
}

// A pipeline that goes on from what a killed run left in the same folder is that run's.
EarlierRun earlier_run(const Pipeline& pipeline, const RunSettings& settings) {
  const auto resumes = [&](const PipelineGadget& gadget) {
    const Value* from = gadget.resolved.find("resume_from");
    std::error_code not_there;
    return from && !from->text.empty() && std::filesystem::equivalent(from->text, settings.output_dir, not_there);
  };
  if (std::ranges::none_of(pipeline.gadgets, resumes)) return settings.earlier_run;
  if (settings.earlier_run == EarlierRun::overwrite)
    throw InputError(fmt::format("--overwrite would clear {}, from which resume_from continues: leave one of them out",
                                 settings.output_dir.string()));
  return EarlierRun::resume;
}

// A socket that was asked for is wrong input where it cannot be; one that a run has anyway is gone without.
class Control {
 public:
  Control(Engine& engine, const RunSettings& settings) : settings_(settings) {
    if (!settings.control.empty() && settings.control != "none")
      from_input([&] { server_.emplace(engine.control(), settings.control); });
  }
  // The output folder is there.
  void open_default(RunControl& run) try {
    if (settings_.control.empty()) server_.emplace(run, settings_.output_dir / control_socket_name);
  } catch (const std::runtime_error& error) {
    program_log().warn("{}; the run continues without it", error.what());
  }

 private:
  const RunSettings& settings_;
  std::optional<ControlServer> server_;
};

// The other processes of a run: it fails where one of them does, and they end as it does. The gadget that uses a rank
// has a second to say itself what happened. If it is in the middle of something, or none uses the rank at that time, the
// run is failed for it.
class OtherRanks {
 public:
  OtherRanks(RankGroup* group, RunControl& run) : group_(group) {
    if (!group_) return;
    thread_ = std::jthread([this, &run](const std::stop_token& stop) { watch(run, stop); });
    group_->when_failed([this](const RankFailure& failure) {
      {
        const std::lock_guard lock(mutex_);
        failure_ = failure;
      }
      failed_.notify_all();
    });
  }
  ~OtherRanks() {
    if (group_) group_->when_failed({});
  }
  OtherRanks(const OtherRanks&) = delete;
  OtherRanks& operator=(const OtherRanks&) = delete;

  /// The run has ended.
  void end(int exit_code) {
    if (!group_) return;
    group_->when_failed({});
    group_->end(exit_code);
  }

 private:
  void watch(RunControl& run, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!failed_.wait(lock, stop, [&] { return failure_.has_value(); })) return;
    if (failed_.wait_for(lock, stop, 1s, [&] { return stop.stop_requested(); })) return;
    if (stop.stop_requested()) return;
    const auto& gadgets = run.pipeline().gadgets;
    const auto found = std::ranges::find(gadgets, failure_->gadget, &PipelineGadget::name);
    run.fail({failure_->gadget, failure_->what, found == gadgets.end() ? Location{} : found->where, std::nullopt});
  }

  RankGroup* group_;
  std::mutex mutex_;
  std::condition_variable_any failed_;
  std::optional<RankFailure> failure_;
  std::jthread thread_;
};

// What several gadgets found, such as a mistake in a file that all of them read, is told once.
void print_errors(const std::vector<RunError>& errors) {
  for (auto error = errors.begin(); error != errors.end(); ++error) {
    const auto is_same = [&](const RunError& other) { return other.what == error->what; };
    if (std::any_of(errors.begin(), error, is_same)) continue;
    std::vector<std::string> others;
    for (auto other = error + 1; other != errors.end(); ++other)
      if (is_same(*other)) others.push_back(other->gadget);
    fmt::print(stderr, "{}{}\n", error->text(),
               others.empty() ? "" : printable(fmt::format(" (so says {})", fmt::join(others, ", "))));
  }
}

void print_end(const RunReport& report, const RunSettings& settings) {
  if (settings.json)
    fmt::print("{}\n", run_json(report));
  else if (report.exit_code == exit_ok)
    fmt::print("{}{}", printable_lines(settings.verbose ? run_table(report) + "\n" : ""),
               printable_lines(run_end(report)));
}

}  // namespace

void add_pipeline_options(Command& command, std::string& pipeline, PipelineOptions& options) {
  command.add_option("pipeline", pipeline, "A pipeline file, or the name of one that comes with tofstream")
      .required()
      .suggests(suggest_shared("pipelines"));
  command.add_option("--input", options.input, "The path of the pipeline's one source");
  command
      .add_option("--set", options.sets,
                  "Override a parameter: gadget.parameter=value, key.part=value, variables.name=value or "
                  "outer/inner.parameter=value")
      .one_a_time()
      .suggests(suggest_settings)
      .takes_no_files();
  command.add_option("--backend", options.backend, "cpu, cuda or auto").suggests({"auto", "cpu", "cuda"});
  add_ranks_option(command, options);
}

void add_ranks_option(Command& command, PipelineOptions& options) {
  command
      .add_option(
          "--ranks",
          [&options](const std::vector<std::string>& given) {
            options.sets.push_back("ranks=" + (given.front() == "gpus" ? "0" : given.front()));
          },
          "Projectors that share the work, a GPU each: a number, or gpus for all of the host")
      .expected(1)
      .suggests({"gpus", "2", "4", "8"});
}

void add_groups_option(Command& command, PipelineOptions& options) {
  command
      .add_option(
          "--groups",
          [&options](const std::vector<std::string>& given) { options.sets.push_back("groups=" + given.front()); },
          "Processes that share the frames or gates of a scan, each with its part of the GPUs and cores of its host: a "
          "number. They are started on this host, or by mpirun, srun or --rank, with one process more, which collects")
      .expected(1)
      .suggests({"2", "4", "8"});
}

void add_output_options(Command& command, RunSettings& settings) {
  settings.output_dir = "results";
  command.add_option("-o,--out", settings.output_dir, "Folder of the results (default: results)")
      .shows_default("results");
  command.add_flag(
      "--overwrite", [&settings] { settings.earlier_run = EarlierRun::overwrite; },
      "Clear what the run in that folder left: the files that its run.json lists, and nothing else");
}

Pipeline load_quietly(const std::string& name, const PipelineOptions& options) {
  const auto loaded = [&](const PipelineOptions& some) {
    return from_input([&] { return load_pipeline(find_shared("pipelines", name), some); });
  };
  try {
    return loaded(options);
  } catch (const InputError&) {
    PipelineOptions alone = options;
    if (std::erase_if(alone.sets, [](const std::string& set) { return set.starts_with("groups="); }) == 0) throw;
    const auto is_what_is_wrong = [&] {
      try {
        return !declares(loaded(alone), "groups");
      } catch (const InputError&) {
        return false;
      }
    };
    if (!is_what_is_wrong()) throw;
  }
  throw InputError(
      "groups: this pipeline makes one image, and groups share frames (framing) or gates (gating): leave groups out; "
      "ranks share one image");
}

Pipeline load(const std::string& name, const PipelineOptions& options) {
  Pipeline pipeline = load_quietly(name, options);
  std::ranges::copy(unread_gadgets(pipeline), std::back_inserter(pipeline.warnings));
  for (const Problem& warning : pipeline.warnings) fmt::print(stderr, "warning: {}\n", warning.text());
  return pipeline;
}

void run_pipeline(Pipeline pipeline, const RunSettings& settings) {
  const EarlierRun earlier = earlier_run(pipeline, settings);
  Observers observers = make_observers(settings);
  Control* control = nullptr;        // goes before the engine that it asks
  std::vector<std::string> reports;  // none without a folder, as of `simulate -o FILE`
  if (!settings.output_dir.empty()) reports.emplace_back(report_html_name);
  Engine engine(std::move(pipeline), {.output_dir = settings.output_dir,
                                      .earlier_run = earlier,
                                      .more_files = std::move(reports),
                                      .failure_grace = settings.ranks ? 2'000ms : EngineOptions{}.failure_grace,
                                      .opened =
                                          [&](RunControl& run) {
                                            control->open_default(run);
                                            if (settings.groups) settings.groups->begin(settings.output_dir);
                                          },
                                      .observer = observers.empty() ? nullptr : &observers});
  RunReport report;
  {
    const SignalWatch signals(
        [&] {
          fmt::print(stderr, "\nstopping: what has arrived is reconstructed and written; again to abort\n");
          engine.request_stop();
        },
        [&] { engine.abort(); });
    Control opened(engine, settings);
    control = &opened;
    OtherRanks others(settings.ranks, engine.control());
    std::optional<ProgressLine> progress;
    std::optional<MetricsEndpoint> metrics;
    if (!settings.metrics.address.empty()) from_input([&] { metrics.emplace(engine.control(), settings.metrics); });
    if (metrics && !settings.quiet) fmt::print(stderr, "metrics: port {}\n", metrics->port());
    if (!settings.quiet && !settings.json) progress.emplace(engine);
    report = engine.run();
    others.end(report.exit_code);
    if (settings.groups) settings.groups->end();
    end_with_report_html(report, settings.output_dir);
  }
  print_errors(report.errors);
  if (report.aborted)
    fmt::print(stderr, "aborted; still running: {}\n",
               report.running_at_cancel.empty()
                   ? "none"
                   : printable(fmt::format("{}", fmt::join(report.running_at_cancel, ", "))));
  if (!settings.is_step) print_end(report, settings);
  if (!report.still_running.empty()) {  // threads are left in gadget code
    std::fflush(nullptr);
    std::_Exit(report.exit_code);
  }
  if (report.exit_code != exit_ok) throw ExitWith{report.exit_code};
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
