// Runs a checked pipeline: gadgets on the oneTBB flow graph are called when every input has a
// message and every output edge has room, others block on threads of their own. One lock guards the
// graph's state; gadget code, allocation and the destruction of payloads happen outside it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/even_series.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"
#include "core/run/engine.hpp"
#include "core/run/fault.hpp"
#include "core/run/flow_graph.hpp"
#include "core/run/node.hpp"
#include "core/run/observer.hpp"
#include "core/run/run_control.hpp"

namespace tofstream {

class Scheduler : public std::enable_shared_from_this<Scheduler>, public FlowGraph::Worker, public RunControl {
 public:
  using Clock = std::chrono::steady_clock;

  Scheduler(Pipeline pipeline, const EngineOptions& options);
  ~Scheduler() override;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Constructs every gadget; what could not be constructed is returned, and nothing may be launched
  // then. After an abort the rest is left out: a launch calls nothing then.
  std::vector<RunError> construct();
  // Before the launch: `changed` is called from any thread when a gadget names a file of its own that is new.
  void watch_files(const std::function<void()>& changed);
  // Calls the start functions, then lets data flow; a gadget with a thread of its own begins there with its start.
  void launch();
  // Waits until every gadget has ended, or after a cancellation until no gadget code runs: true.
  // False at the deadline, and where asked for as soon as the run is stopping or cancelled.
  bool wait(std::optional<Clock::time_point> deadline, bool until_stop, bool until_cancel);
  // Joins the threads after wait() returned true; or lets them go for good where it did not: other runs wait for no
  // turn of theirs.
  void join();
  void abandon();

  // Called by the flow graph: runs a job of the node, and what can be run after it.
  void work(std::size_t node) override;

  // Drops everything; `error` says why, and is kept if it is the first. An abort has none.
  void cancel(std::optional<RunError> error);

  const Pipeline& pipeline() const override { return pipeline_; }
  RunReport snapshot() const override;
  std::vector<LiveParameter> live_parameters() const override;
  std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) override;
  void request_stop() override;
  void abort() override;

  // Grows whenever a message is taken or given, and whenever a gadget's progress changes.
  std::uint64_t moves() const;
  // Whether nothing but the outside keeps it: see Context::wait_outside.
  bool waits_outside() const;
  // Who waits for what and who is in its own code for how long: the report of a stall.
  std::string state_in_words() const;

  bool stopping() const;
  bool cancelled() const;
  bool aborted() const;
  std::vector<std::string> in_code() const;

 private:
  class Section;
  using Tickets = std::vector<Node*>;
  class Outlet;

  void make_edges();
  void launch_flow_graph();
  void start_gadgets();
  bool starts_on_own_thread(const Node& node) const;
  void start(Node& node);
  std::optional<Job> job_of_ticket(Node& node, Tickets& behind);
  void own_thread(Node& node);
  void launch_threads(Section& section);
  void mover_thread(Edge& edge);
  std::shared_ptr<SpillChunk> next_move(Edge& edge);
  std::optional<RunError> move(Edge& edge, SpillChunk& chunk) const;
  std::optional<Job> next_own_job(Node& node);
  // `mine`: of a worker of the graph, where it finds the tickets that it goes on with.
  void run_job(Node& node, Job& job, Tickets* mine);
  void make_calls(Node& node, Job& job, std::size_t& call);
  void call_gadget(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context);
  void process(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context);
  Fate meet_fault(Node& node, std::uint64_t number) const;

  // With the lock held, which the Section proves.
  void examine(Section& section, Node& node);
  static void wake_idle_writers(Node& node);
  bool ready(Section& section, Node& node);
  void discard_unpaired(Section& section, Node& node);
  void pass_promises_on(Section& section, Node& node);
  bool inputs_over(const Node& node) const;
  bool joins_unevenly(Section& section, Node& node);
  Job take(Section& section, Node& node);
  void take_call(Section& section, Node& node, Job& job);
  Job take_flush(Node& node);
  Job take_idle(Node& node);
  Job new_job(Node& node);
  void begin(Node& node);
  void finish(Section& section, Node& node, Job job);
  void publish(Section& section, Node& node, std::size_t port, Message message, Job* job);
  void publish_outputs(Section& section, Node& node, Job& job);
  void publish_in_order(Section& section, Node& node, Job job);
  void release_places(Node& node, Job& job);
  void end(Section& section, Node& node);
  bool can_go_on(const Node& node) const;
  void check_progress(Section& section);
  void cancel(Section& section, std::optional<RunError> error);
  static RunError error_of(const Node& node, std::exception_ptr cause);
  static RunError spill_error(const Edge& edge, const std::exception& cause);
  void fail(Section& section, const Node& node, const Call* call, std::exception_ptr cause);
  std::vector<std::string> nodes_in_code() const;
  std::vector<std::string> who_waits() const;
  void read_figures(RunReport& report) const;
  RunPhase phase() const;
  CountPoint count_now() const;

  const Pipeline pipeline_;
  Observer* const observer_;
  std::unique_ptr<Turns::Place> turns_;  // null: nobody to share with
  bool any_idles_ = false;               // some gadget has an idle function
  bool goes_by_origin_ = false;          // some gadget merges in order or joins by sequence: promises are kept
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Edge>> edges_;
  std::unique_ptr<FlowGraph> graph_;
  std::vector<std::jthread> threads_;
  std::stop_source stop_source_;    // of the sources
  std::stop_source cancel_source_;  // follows cancelled_, for gadgets that wait for something outside

  mutable std::mutex parameters_mutex_;  // taken before mutex_
  std::vector<Value> parameters_;        // of each gadget, as they were set last
  ParameterHistory changes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::system_clock::time_point started_;
  Clock::time_point began_;
  EvenSeries<CountPoint> counts_{400, 0.1};  // a tenth of a second apart, or more in a long run
  bool launched_ = false;
  bool stopping_ = false;
  std::atomic<bool> cancelled_ = false;  // written with the lock held
  bool aborted_ = false;                 // cancelled without an error
  bool finished_ = false;
  std::uint64_t moves_ = 0;
  std::size_t alive_ = 0;        // gadgets that have not ended
  std::size_t own_threads_ = 0;  // that have not returned, of gadgets and of edges that spill
  std::size_t active_ = 0;       // tickets and jobs of the graph, and own threads that do not wait
  std::vector<RunError> errors_;
  std::vector<std::string> running_at_cancel_;
};

}  // namespace tofstream
