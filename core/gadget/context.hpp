// What the runtime offers a gadget besides its inputs: the books, a logger, progress, figures for
// run.json, and what is known of the message at hand. A gadget asks for it by a trailing `Context&`
// parameter.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/gadget/turn.hpp"

namespace tofstream {

class RunControl;

// What travels with a payload: its place in the producer's output, when the first and the last of its data entered the
// program, and which events of the stream (half open, numbered as they were received) it stems from.
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
enum class Account { received, reconstructed, written, rejected, lost };

// A value that a gadget reports into run.json.
using Figure = std::variant<bool, std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

struct Progress {
  double done = 0;
  double total = 0;  // 0: unknown
  std::string unit;
};

// Everything that a Context needs of the engine, a server or a test, which stand behind it. Authors do not see it: they
// call the Context, where each of these is described. Every function is safe from any thread.
struct GadgetServices {
  virtual const std::string& name() const = 0;
  virtual const std::string& log_name() const = 0;  // what log lines begin with
  virtual const std::filesystem::path& output_dir() const = 0;
  virtual void own_file(const std::filesystem::path& name) = 0;
  virtual bool is_connected(std::string_view port) const = 0;

  virtual const std::stop_token& cancel_token() const = 0;
  virtual const std::stop_token& stop_token() const = 0;
  virtual RunControl* control() const = 0;
  virtual void set_waiting_outside(bool waits) = 0;
  virtual void set_waiting(std::string what) = 0;
  virtual Turn take_turn() = 0;

  // `reason`: of what is rejected or lost, else empty.
  virtual void book(Account account, std::uint64_t events, std::string_view reason) = 0;
  virtual void set_figure(std::string_view key, Figure value) = 0;
  virtual void append_figure(std::string_view key, double value) = 0;
  virtual void set_progress(Progress progress) = 0;
  virtual void span(std::string_view track, std::string_view name, std::chrono::steady_clock::time_point began,
                    std::chrono::steady_clock::time_point ended) = 0;

 protected:
  ~GadgetServices() = default;
};

// Where a gadget writes what became of events.
class Books {
 public:
  explicit Books(GadgetServices& services) : services_(&services) {}

  void received(std::uint64_t events) { services_->book(Account::received, events, {}); }
  void reconstructed(std::uint64_t events) { services_->book(Account::reconstructed, events, {}); }
  // For sinks that keep or consume the events themselves, such as a list-mode writer.
  void written(std::uint64_t events) { services_->book(Account::written, events, {}); }
  void rejected(std::uint64_t events, std::string_view reason) { remove(Account::rejected, events, reason); }
  void lost(std::uint64_t events, std::string_view reason) { remove(Account::lost, events, reason); }

  // Events that were rejected or lost through this object, which the runtime need not book by itself.
  std::uint64_t removed() const { return removed_; }

 private:
  void remove(Account account, std::uint64_t events, std::string_view reason) {
    removed_ += events;
    services_->book(account, events, reason);
  }

  GadgetServices* services_;
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

// A stateful gadget, source or sink is given the same Context at every call. A pure gadget is given a fresh one, which
// it must not keep.
class Context {
 public:
  explicit Context(GadgetServices& services) : services_(&services), books_(services) {}

  // The gadget's name in the pipeline.
  const std::string& name() const { return services_->name(); }
  Books& books() { return books_; }
  Logger log() const { return Logger(services_->log_name()); }
  // The folder of the run's results; it exists.
  const std::filesystem::path& output_dir() const { return services_->output_dir(); }
  // The path of a file of this name in that folder. The file belongs to the run from now on: run.json lists it before
  // it is written, and whoever overwrites the run removes it. Ask for each file that is written there, in the
  // constructor if its name is known by then.
  std::filesystem::path output_file(const std::filesystem::path& name) {
    services_->own_file(name);
    return output_dir() / name;
  }
  // Whether anything feeds this input or reads this output: false for an optional input that the pipeline leaves open,
  // and for an output that nobody reads, which need not be computed. It holds from the gadget's constructor to its end.
  // A port has the name that it was declared with; the only input is "in", the only output "out"; an input comes before
  // an output of the same name. In a unit test all ports are connected, except those that the test disconnects.
  // Throws std::invalid_argument where the gadget has no such port.
  bool is_connected(std::string_view port) const { return services_->is_connected(port); }
  // Whether the run is being ended: another gadget failed, the run was aborted, or it did not drain in time. Nothing
  // that is emitted now goes anywhere, and no error is reported any more. A gadget that waits for something outside (a
  // process, a socket, a GPU) asks for this, and returns or throws. It costs one atomic load. A stop is no
  // cancellation: the rest drains then.
  bool cancelled() const { return cancel_token().stop_requested(); }
  // The same for a wait that can be woken: std::condition_variable_any, or a std::stop_callback that writes to an
  // eventfd. The callback runs on the thread that ends the run and must not wait.
  const std::stop_token& cancel_token() const { return services_->cancel_token(); }
  // Whether sources were asked to end before their streams did, so that the run ends within a deadline. A gadget that
  // has much left to do leaves out what is not needed.
  bool stopping() const { return services_->stop_token().stop_requested(); }
  // The run that the gadget is in, to watch and to steer it (core/run/run_control.hpp); it outlives the gadget. Null
  // where the gadget is called without one, as in a unit test.
  RunControl* control() const { return services_->control(); }
  // Runs `wait`, in which the gadget waits for something outside the program that may take as long as it likes, such as
  // a sender. A pipeline that waits for nothing else does not stand still, and no stall is reported.
  template <class Wait>
  decltype(auto) wait_outside(Wait&& wait) {
    struct Mark {
      explicit Mark(GadgetServices& of) : services(of) { services.set_waiting_outside(true); }
      ~Mark() { services.set_waiting_outside(false); }
      GadgetServices& services;
    } const mark(*services_);
    return std::forward<Wait>(wait)();
  }
  // Says what the gadget waits for outside the program, as a whole line: "waiting for a sender at
  // tcp://127.0.0.1:5555". The progress line, `tofstream top` and the live page show it, and a run of which no data has
  // come is called waiting, not running. An empty text says that the wait is over. It goes beside wait_outside, which
  // is the wait itself.
  void say_waiting(std::string what) { services_->set_waiting(std::move(what)); }
  // Call this before work on what runs of the same process share, such as the processor that projects. It waits until
  // it is this run's turn, which lasts as long as the object that is returned. A run that is alone has its turn at
  // once. Only for a gadget with a thread of its own; emit nothing meanwhile, since that may wait. Where the run is
  // being ended it returns without a turn.
  Turn take_turn() { return services_->take_turn(); }
  // The message at hand: of a join, its inputs together; in flush, the last one. A source may set when its data
  // entered.
  const MessageInfo& message() const { return message_; }
  void set_message(const MessageInfo& message) { message_ = message; }
  // Says which events the next message that is emitted was made from, and when these entered, where that is not the
  // messages that came since the one before: for a gadget that keeps data until their turn.
  void made_from(const MessageInfo& data) { made_from_ = data; }
  // What was said last, once: for the runtime.
  std::optional<MessageInfo> take_made_from() { return std::exchange(made_from_, std::nullopt); }

  // Puts a figure into run.json under the gadget's name; the same key again replaces it.
  void report(std::string_view key, Figure value) { services_->set_figure(key, std::move(value)); }
  // Appends to a list of numbers in run.json, such as the log-likelihood of each iteration.
  void append(std::string_view key, double value) { services_->append_figure(key, value); }
  // How far the gadget is; total 0 where it is unknown.
  void progress(double done, double total, std::string_view unit) {
    services_->set_progress({done, total, std::string(unit)});
  }
  // Puts a stretch of time on a track of the run's trace, such as a kernel's on the GPU.
  void span(std::string_view track, std::string_view name, std::chrono::steady_clock::time_point began,
            std::chrono::steady_clock::time_point ended) {
    services_->span(track, name, began, ended);
  }

 private:
  GadgetServices* services_;
  Books books_;
  MessageInfo message_;
  std::optional<MessageInfo> made_from_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
