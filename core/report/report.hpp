// What a run did: books, figures of each gadget and edge, and errors, as a structure, as run.json and
// as a table.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/gadget/context.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/parameter_history.hpp"
#include "core/report/run_folder.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// Why a run failed, or could not begin.
struct RunError {
  std::string gadget;  // its name in the pipeline; "" if it is no gadget's fault
  std::string what;
  Location where;
  std::optional<std::uint64_t> message;  // the sequence number of the message at hand

  // "file:line:column: gadget 'name' at message 12: what", one line.
  std::string text() const;
};

struct LatencyFigures {
  std::uint64_t messages = 0;
  double p50_seconds = 0;
  double p99_seconds = 0;
  double max_seconds = 0;
};

struct GadgetReport {
  std::string name;
  std::string use;
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t events_in = 0;
  std::uint64_t events_out = 0;
  double busy_seconds = 0;
  double waiting_output_seconds = 0;
  BookEntries books;
  std::map<std::string, Figure> figures;
  Progress progress;
  std::string waiting;  // what it waits for outside the program (Context::say_waiting); empty: nothing
};

// What passed over one edge, and what waits on it.
struct EdgeFigures {
  std::uint64_t messages = 0;  // that were put in
  std::uint64_t dropped_messages = 0;
  std::uint64_t dropped_events = 0;
  std::size_t most_messages = 0;     // high-water marks
  std::size_t most_bytes = 0;        // in memory
  std::size_t waiting_messages = 0;  // now, also those on disk
  std::size_t waiting_bytes = 0;     // now, in memory
  // An edge that spills counts what it has written to disk so far, what lies there now, and the most that did.
  std::uint64_t spilled_messages = 0;
  std::uint64_t spilled_bytes = 0;
  std::size_t disk_messages = 0;
  std::size_t disk_bytes = 0;
  std::size_t most_disk_bytes = 0;
};

struct EdgeReport {
  std::string name;
  EdgeSettings limits;
  EdgeFigures figures;
};

// The books of the whole run (core/report/books.hpp).
struct BookBalance {
  std::uint64_t received = 0;
  std::uint64_t reconstructed = 0;
  std::uint64_t written = 0;
  std::map<std::string, std::uint64_t> rejected;
  std::map<std::string, std::uint64_t> lost;
  std::uint64_t discarded = 0;  // with messages that an edge dropped
  std::string difference;       // "" where the books balance, else what is wrong in one line

  bool balanced() const { return difference.empty(); }
};

// A time in which no message moved.
struct Stall {
  double at_seconds = 0;  // after the run began
  double seconds = 0;     // since the last message
  std::string state;      // who waits for what
};

// Events received up to a moment of the run.
struct CountPoint {
  double seconds = 0;
  std::uint64_t events = 0;
  bool operator==(const CountPoint&) const = default;
};

// Where a run stands: gadgets are made; one waits for the first data; data flow; sources have ended and the rest drains;
// it was aborted or has failed, and gadgets return from their code; nothing runs any more.
enum class RunPhase { preparing, waiting, running, stopping, ending, over };

struct RunReport {
  std::string pipeline;
  Value resolved;
  RunPhase phase = RunPhase::over;
  std::chrono::system_clock::time_point started;
  std::chrono::system_clock::time_point ended;
  double seconds = 0;
  double data_seconds = 0;  // since the first data came from a source; 0: none has
  bool stopped = false;
  bool aborted = false;
  bool began = false;                // data flowed: the output folder is this run's
  std::filesystem::path output_dir;  // empty: none
  std::vector<RunFile> files;        // of the run in the output folder, now or before its end
  std::vector<RunError> errors;      // several only if gadgets could not be constructed
  // Gadgets in their own code when the run was cancelled; and those that did not return within the
  // grace period: their threads are still there, so the program must end by std::_Exit.
  std::vector<std::string> running_at_cancel;
  std::vector<std::string> still_running;
  BookBalance books;
  std::vector<GadgetReport> gadgets;
  std::vector<EdgeReport> edges;
  std::vector<Stall> stalls;
  std::vector<ParameterChange> changes;
  std::vector<CountPoint> counts;  // events received over time, the last point of the moment of the report
  LatencyFigures latency;          // from ingress to the end of a sink's process
  int exit_code = 0;               // an ExitCode
};

// How it went, in one word: done, stopped, failed or aborted; before its end the phase.
std::string outcome(const RunReport& report);

// The report as run.json has it.
std::string run_json(const RunReport& report);

// What an image or a file that is made now tells of its run: resolved pipeline, versions, parameters that were set, the
// books so far, and the events [first_event, end_event) of `events` that it stems from. JSON in plain ASCII. `also` is
// JSON of what the gadget knows besides, under a key: {"quantity", "{...}"}; it may be empty.
std::string provenance_json(const RunReport& report, const MessageInfo& events,
                            const std::map<std::string, std::string>& also = {});

// Writes run.json into the folder, by rename. Throws std::system_error.
void write_run_json(const RunReport& report, const std::filesystem::path& output_dir);

// A table of what each gadget did, then what edges dropped, latency and books; each line ends with '\n'.
std::string run_table(const RunReport& report);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
