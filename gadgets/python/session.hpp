// A conversation with one Python process: start with a version check, requests and replies over ZeroMQ (JSON, a kB),
// arrays in shared memory by their offset, and every way in which the process can fail as one clear line.
//
// A request is {"do": "load" | "process" | "flush" | "run" | "next" | "close" | "quit", ...}. The process answers
// {"gives": [...], "more": bool, ...} and asks in between {"need": bytes} for memory to write into; tools/python's
// worker.py is the other side.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include "core/gadget/context.hpp"
#include "gadgets/python/child_process.hpp"
#include "gadgets/python/shared_arena.hpp"
#include "gadgets/stop_descriptor.hpp"

namespace tofstream {

using PythonJson = nlohmann::json;

/// Said by both sides at the start; differs where their messages do.
constexpr int python_protocol = 1;

struct PythonSettings {
  std::string python;            // the interpreter
  std::filesystem::path script;  // absolute
  std::string takes, gives;
  PythonJson arguments;
  std::chrono::duration<double> timeout{30}, start_timeout{30};  // 0: none
};

/// A piece of the arena that a request tells the process of.
struct NamedRange {
  std::string name;
  std::size_t offset = 0, bytes = 0;
};

/// Arrays lent to the process: they stay where they are until it has let go of its last view of them.
struct Lease {
  std::vector<NamedRange> ranges;
  std::vector<std::shared_ptr<const void>> owners;
  bool is_payload = false;  // the ranges are those of a payload that others may read, no copies
};

/// Who keeps a range alive that the process gave.
struct RangeOwner {
  std::shared_ptr<const void> owner;
  bool is_shared = false;  // others may read it, so nobody may write it
};

class PythonSession {
 public:
  /// Starts the process and loads the script. Throws std::runtime_error in one line.
  PythonSession(PythonSettings settings, Context& context);
  /// Asks the process to quit, ends it where it does not.
  ~PythonSession();
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

  SharedArena& arena() { return *arena_; }
  /// "gate.py:5: gate()": where the gadget is defined, for messages about what it gave.
  const std::string& where() const { return where_; }
  bool has_flush() const { return has_flush_; }

  /// Takes back what the process has let go of; before something new is lent, so that its memory is used again.
  void take_back();
  /// Lends the arrays to the process from the next request on.
  void lend(Lease lease);
  /// What was lent last; null before.
  const Lease* current() const { return leases_.contains(last_lease_) ? &leases_.at(last_lease_) : nullptr; }
  /// The owner of a range that a reply names. Throws where the process may not give it.
  RangeOwner owner_of(std::size_t offset, std::size_t bytes);

  /// Sends a request and returns the reply. Throws std::runtime_error when the script raised, when the process died,
  /// after the time-out, or as soon as the run is being ended for another cause; it is ended then.
  PythonJson ask(PythonJson request, Context& context);

 private:
  // Blocks of the arena that the process writes into; it keeps them for good and uses them again.
  struct Lent {
    std::shared_ptr<const SharedBlock> block;
    std::weak_ptr<const void> holder;  // of the payloads that lie in it now
  };
  // Blocks whose last payload has gone; shared with the payloads, which may outlive the session.
  struct Returned {
    std::mutex mutex;
    std::vector<std::size_t> offsets;
  };

  void start();
  void greet(Context& context);
  void load(Context& context);
  PythonJson exchange(const PythonJson& request, std::chrono::duration<double> limit, const char* parameter,
                      Context& context);
  PythonJson receive(std::chrono::steady_clock::time_point deadline, std::chrono::duration<double> limit,
                     const char* parameter);
  bool receive_now(PythonJson& reply);
  void send(const PythonJson& message);
  PythonJson lend_block(std::size_t bytes);
  void log_line(bool is_error, std::string_view line);
  std::string last_error_line();
  std::string place_of_hang();
  [[noreturn]] void fail_dead();
  [[noreturn]] void fail_cancelled();
  [[noreturn]] void fail_hanging(std::chrono::duration<double> limit, const char* parameter);
  [[noreturn]] void fail_raised(const PythonJson& error, Context& context);

  const PythonSettings settings_;
  const Logger log_;
  const StopDescriptor cancelled_;
  std::shared_ptr<SharedArena> arena_;
  std::mutex lines_mutex_;
  std::deque<std::string> error_lines_;  // the last few of standard error
  zmq::context_t zmq_;
  zmq::socket_t socket_;
  std::unique_ptr<ChildProcess> child_;
  std::string where_;
  bool has_flush_ = false;
  bool is_ready_ = false;
  std::uint64_t last_lease_ = 0;
  std::map<std::uint64_t, Lease> leases_;
  std::vector<std::uint64_t> released_;  // leases that the last reply let go of, which may lie in what it gave
  std::map<std::size_t, Lent> lent_;     // by offset
  std::shared_ptr<Returned> returned_ = std::make_shared<Returned>();
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
