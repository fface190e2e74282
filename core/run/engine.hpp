// Runs a checked pipeline from construction to run.json: what the `run` command and the tests call.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/gadget/turns.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"
#include "core/report/run_folder.hpp"
#include "core/run/observer.hpp"
#include "core/run/run_control.hpp"

namespace tofstream {

class RunJsonFile;
struct Run;

struct EngineOptions {
  // Where gadgets write and run.json goes; created if missing. Empty: the working folder, and no
  // run.json.
  std::filesystem::path output_dir;
  // What becomes of a run that the folder holds already.
  EarlierRun earlier_run = EarlierRun::refuse;
  // Files in the folder that belong to the run besides its gadgets' files: the caller writes them there.
  std::vector<std::string> more_files;
  // After request_stop(): how long the pipeline may drain before the run fails.
  std::chrono::milliseconds stop_deadline{30'000};
  // After an abort (or RunControl::fail), or a gadget's failure: how long gadgets may take to return from their own code
  // before they are abandoned.
  std::chrono::milliseconds abort_grace{1'000};
  std::chrono::milliseconds failure_grace{30'000};
  // When no message has moved for this long, a line of the log and an entry of the report say who waits for whom.
  std::chrono::milliseconds stall_report{10'000};
  // Called once the output folder is there and before gadgets are constructed, which may take long. What it throws
  // keeps the run from beginning.
  std::function<void(RunControl&)> opened;
  // Told of every call, or null; outlives the engine.
  Observer* observer = nullptr;
  // For one among several runs in a process: what stands before the names of its gadgets in the log.
  std::string name;
  // For one among several runs in a process: what they share by turns (Context::take_turn), or null.
  std::shared_ptr<Turns> turns;
};

class Engine {
 public:
  explicit Engine(Pipeline pipeline, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Locks the output folder until the engine is destroyed, constructs the gadgets, clears what is left of an earlier
  // run that is to be overwritten, writes run.json (as running), lets the data flow to its end, settles the books and
  // writes run.json again. Call it once. A run that does not begin, because a gadget cannot be constructed, another run
  // has the folder, or it is aborted before, leaves nothing behind and an earlier run whole. Whatever goes wrong is in
  // the report (errors, exit_code); nothing is thrown but std::bad_alloc. If `still_running` is not empty, threads are
  // left in gadget code: end the program by std::_Exit.
  RunReport run();

  // To watch and steer the run from any thread (no signal handler); what follows are its calls.
  RunControl& control();
  RunReport snapshot() const;
  void request_stop();
  void abort();
  std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter, const Value& value);

 private:
  void execute();
  bool prepare();
  bool tell_opened();
  bool begin();
  void wait_for_end();
  bool wait_watching_for_stalls();
  void finish(RunReport& report);

  const EngineOptions options_;
  std::shared_ptr<Run> run_;
  std::shared_ptr<RunJsonFile> run_json_;  // null: no output folder; abandoned threads may outlive the engine
  bool began_ = false;                     // data flowed: errors are those of the run, no longer of the configuration
  std::vector<RunError> early_errors_;
  std::vector<std::string> still_running_;
  std::vector<Stall> stalls_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
