// What the runtime offers a gadget besides its inputs: the books, a logger, progress, figures for
// run.json, and what is known of the message at hand. A gadget asks for it by a trailing `Context&`
// parameter.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/gadget/turns.hpp"

namespace tofstream {

class RunControl;

// What travels with a payload: its place in the producer's output, when the first of its data entered the program and
// when the last, and which events of the stream (half open, numbered as they were received) it stems from.
struct MessageInfo {
  std::uint64_t sequence = 0;
  std::uint64_t origin = 0;  // number of the source's message that it stems from, the latest where from several
  std::chrono::steady_clock::time_point ingress{};
  std::chrono::steady_clock::time_point last_ingress{};
  std::uint64_t first_event = 0;
  std::uint64_t end_event = 0;
};

// A gadget's events, by fate. received = reconstructed + written + rejected + lost, over the whole
// run.
struct BookEntries {
  std::uint64_t received = 0;
  std::uint64_t reconstructed = 0;
  std::uint64_t written = 0;
  std::map<std::string, std::uint64_t> rejected;  // by reason
  std::map<std::string, std::uint64_t> lost;      // by reason

  std::uint64_t rejected_total() const;
  std::uint64_t lost_total() const;
};

// A value that a gadget reports into run.json.
using Figure = std::variant<bool, std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

struct Progress {
  double done = 0;
  double total = 0;  // 0: unknown
  std::string unit;
};

// The store behind the contexts of one gadget; safe from any thread.
class GadgetRecord {
 public:
  // `cancel` is stopped when the run is being ended; without one it never is. `control` is of the run, outlives the
  // record, and is null where there is no run. `stop` is stopped when the run is to end before its stream does.
  explicit GadgetRecord(std::string name, std::filesystem::path output_dir = ".", std::stop_token cancel = {},
                        RunControl* control = nullptr, std::stop_token stop = {});

  const std::string& name() const { return name_; }
  const std::filesystem::path& output_dir() const { return output_dir_; }
  const std::stop_token& cancel() const { return cancel_; }
  RunControl* control() const { return control_; }
  const std::stop_token& stop() const { return stop_; }
  BookEntries books() const;
  std::map<std::string, Figure> figures() const;
  Progress progress() const;

  void book(std::uint64_t BookEntries::*account, std::uint64_t events);
  void book(std::map<std::string, std::uint64_t> BookEntries::*account, std::uint64_t events, std::string_view reason);
  void set_figure(std::string_view key, Figure value);
  void append_figure(std::string_view key, double value);
  void set_progress(Progress progress);
  // How often the progress has changed: a gadget whose progress grows does not stand still.
  std::uint64_t progress_changes() const { return progress_changes_; }
  // Files of the output folder that the gadget has named as its own, in this order, each once.
  std::vector<std::string> files() const;
  void own_file(const std::filesystem::path& name);

  // Set while the gadget waits for the outside: see Context::wait_outside.
  std::atomic<bool> waits_outside = false;

  using Clock = std::chrono::steady_clock;
  // The following are set before data flows.
  std::string log_name;           // what log lines begin with; empty: the gadget's name
  Turns::Place* turns = nullptr;  // of the run among others; null: it is alone
  // Called by span(), from any thread.
  std::function<void(std::string_view track, std::string_view name, Clock::time_point, Clock::time_point)> on_span;
  // Called by own_file() for each that is new, from any thread.
  std::function<void()> on_file;

 private:
  const std::string name_;
  const std::filesystem::path output_dir_;
  const std::stop_token cancel_;
  RunControl* const control_;
  const std::stop_token stop_;
  mutable std::mutex mutex_;
  BookEntries books_;
  std::map<std::string, Figure> figures_;
  Progress progress_;
  std::atomic<std::uint64_t> progress_changes_ = 0;
  std::vector<std::string> files_;
};

// Where a gadget writes what became of events.
class Books {
 public:
  explicit Books(GadgetRecord& record) : record_(&record) {}

  void received(std::uint64_t events) { record_->book(&BookEntries::received, events); }
  void reconstructed(std::uint64_t events) { record_->book(&BookEntries::reconstructed, events); }
  // For sinks that keep or consume the events themselves, such as a list-mode writer.
  void written(std::uint64_t events) { record_->book(&BookEntries::written, events); }
  void rejected(std::uint64_t events, std::string_view reason);
  void lost(std::uint64_t events, std::string_view reason);

  // Events that were rejected or lost through this object: what the runtime need not book by
  // itself.
  std::uint64_t removed() const { return removed_; }

 private:
  GadgetRecord* record_;
  std::uint64_t removed_ = 0;
};

// Log lines that begin with the gadget's name; formatting is the caller's.
class Logger {
 public:
  explicit Logger(const std::string& name) : name_(&name) {}
  void debug(std::string_view text) const;
  void info(std::string_view text) const;
  void warning(std::string_view text) const;

 private:
  const std::string* name_;
};

// A stateful gadget, source or sink is given the same Context at every call; a pure gadget a fresh
// one, which it must not keep.
class Context {
 public:
  explicit Context(GadgetRecord& record) : record_(&record), books_(record) {}

  // The gadget's name in the pipeline.
  const std::string& name() const { return record_->name(); }
  Books& books() { return books_; }
  Logger log() const { return Logger(record_->log_name.empty() ? record_->name() : record_->log_name); }
  // The folder of the run's results; it exists.
  const std::filesystem::path& output_dir() const { return record_->output_dir(); }
  // Where a file of this name is in that folder. It is the run's from now on: run.json lists it, before it is written,
  // and who overwrites the run removes it. Ask for each file that is written there, in the constructor where its name
  // is known by then.
  std::filesystem::path output_file(const std::filesystem::path& name) {
    record_->own_file(name);
    return output_dir() / name;
  }
  // The run is being ended: another gadget failed, it was aborted, or did not drain in time. Nothing that is emitted
  // now goes anywhere, and no error is reported any more: who waits for something outside (a process, a socket, a GPU)
  // asks for this, and returns or throws. One atomic load. Not at a stop, after which the rest drains.
  bool cancelled() const { return record_->cancel().stop_requested(); }
  // The same for a wait that can be woken: std::condition_variable_any, or a std::stop_callback that writes to an
  // eventfd. The callback runs on the thread that ends the run and must not wait.
  const std::stop_token& cancel_token() const { return record_->cancel(); }
  // Sources were asked to end before their streams did, so that the run ends within a deadline: who has much left to do
  // that is not needed leaves it out.
  bool stopping() const { return record_->stop().stop_requested(); }
  // The run that the gadget is in, to watch and to steer it (core/run/run_control.hpp); it outlives the gadget. Null
  // where the gadget is called without one, as in a unit test.
  RunControl* control() const { return record_->control(); }
  // Runs `wait`, in which the gadget waits for something outside the program that may take as long as it likes, such as
  // a sender. A pipeline that waits for nothing else does not stand still, and no stall is reported.
  template <class Wait>
  decltype(auto) wait_outside(Wait&& wait) {
    struct Mark {
      explicit Mark(std::atomic<bool>& of) : flag(of) { flag = true; }
      ~Mark() { flag = false; }
      std::atomic<bool>& flag;
    } const mark(record_->waits_outside);
    return std::forward<Wait>(wait)();
  }
  // Before work on what runs of the same process share, such as the processor that projects: waits until it is this
  // run's turn, which lasts as long as what is returned. A run that is alone has it at once. Only in a gadget with a
  // thread of its own; emit nothing meanwhile, since that may wait. It returns without when the run is being ended.
  Turns::Turn take_turn();
  // The message at hand; of a join's inputs together; in flush the last one. A source may set when its data entered.
  const MessageInfo& message() const { return message_; }
  void set_message(const MessageInfo& message) { message_ = message; }

  // Puts a figure into run.json under the gadget's name; the same key again replaces it.
  void report(std::string_view key, Figure value) { record_->set_figure(key, std::move(value)); }
  // Appends to a list of numbers in run.json, such as the log-likelihood of each iteration.
  void append(std::string_view key, double value) { record_->append_figure(key, value); }
  // How far the gadget is; total 0 where it is unknown.
  void progress(double done, double total, std::string_view unit) {
    record_->set_progress({done, total, std::string(unit)});
  }
  // Puts a stretch of time on a track of the run's trace, such as a kernel's on the GPU.
  void span(std::string_view track, std::string_view name, std::chrono::steady_clock::time_point began,
            std::chrono::steady_clock::time_point ended) {
    if (record_->on_span) record_->on_span(track, name, began, ended);
  }

 private:
  GadgetRecord* record_;
  Books books_;
  MessageInfo message_;
};

}  // namespace tofstream
