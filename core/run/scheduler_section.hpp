// The scheduler's critical section: holds the lock, gathers what changed, and on leaving does what
// must happen outside the lock (starting work on the flow graph, destroying payloads). Private to
// the scheduler's source files.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/run/flow_graph.hpp"
#include "core/run/scheduler.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tofstream {

// libtbb hands tickets from thread to thread, and ThreadSanitizer cannot see how: these say it.
#if defined(__SANITIZE_THREAD__)
inline void hand_over(void* scheduler) {
  __tsan_release(scheduler);
}
inline void take_over(void* scheduler) {
  __tsan_acquire(scheduler);
}
#else
inline void hand_over(void*) {}
inline void take_over(void*) {}
#endif

// Tells the processor that a loop waits.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Unwinds a gadget out of Emit when the run was cancelled. Not a std::exception, so that `catch
// (const std::exception&)` in a gadget does not take it for an error of its own.
struct Cancelled {};

// Takes `other` into the span of origins, events and times of `info`; whose sequence stays.
void widen(MessageInfo& info, const MessageInfo& other);

class Scheduler::Section {
 public:
  // A worker of the graph gives the list of what it goes on with: tickets of quick gadgets are put there, and one of
  // any other where the list is empty.
  explicit Section(Scheduler& scheduler, Tickets* mine = nullptr)
      : scheduler_(scheduler), lock_(scheduler.mutex_, std::defer_lock), mine_(mine) {
    // The lock is held for a microsecond or so: trying again for as long costs less than going to sleep and being
    // woken.
    for (int tries = 0; tries < 100; ++tries) {
      if (lock_.try_lock()) return;
      pause();
    }
    lock_.lock();
  }
  ~Section() {
    settle();
    leave();
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // The node's inputs or outputs changed: see on leaving whether it can be called.
  void touch(Node& node) {
    if (!std::exchange(node.is_touched, true)) touched_.push_back(&node);
  }
  void put_ticket(Node& node) {
    if (mine_ && node.is_quick())
      mine_->push_back(&node);
    else
      tickets_.push_back(&node);
  }
  std::vector<Message>& trash() { return trash_; }
  void stop_sources_on_leaving() { stop_sources_ = true; }
  void announce_cancel_on_leaving() { announce_cancel_ = stop_sources_ = true; }
  void release_graph_on_leaving() { release_graph_ = true; }

  // Lets the lock go until the node can go on in the way it waits for, or the run is cancelled.
  void wait(Node& node, Node::Waiting what, std::size_t port = 0) {
    node.waiting = what;
    node.waiting_port = port;
    --scheduler_.active_;
    settle();
    leave();
    lock_.lock();
    node.wake.wait(lock_, [&] { return scheduler_.cancelled_ || scheduler_.can_go_on(node); });
    node.waiting = Node::Waiting::no;
    node.takes_any_room = false;
    ++scheduler_.active_;
  }

  // Lets the lock go until the edge has something to move between memory and disk, or the run is cancelled.
  void wait(Edge& edge) {
    const auto can_go_on = [&] { return scheduler_.cancelled_ || edge.has_to_move(); };
    if (can_go_on()) return;
    --scheduler_.active_;
    settle();
    leave();
    lock_.lock();
    edge.mover_wakes.wait(lock_, can_go_on);
    ++scheduler_.active_;
  }

 private:
  void settle() {
    while (!touched_.empty()) {
      Node& node = *touched_.back();
      touched_.pop_back();
      node.is_touched = false;
      scheduler_.examine(*this, node);
    }
    scheduler_.check_progress(*this);
  }

  void leave() {
    lock_.unlock();
    if (mine_ && mine_->empty() && !tickets_.empty()) {
      mine_->push_back(tickets_.back());
      tickets_.pop_back();
    }
    if (!tickets_.empty()) hand_over(&scheduler_);
    for (const Node* node : tickets_) scheduler_.graph_->put(node->index);
    tickets_.clear();
    trash_.clear();
    // These two call what gadgets have put behind the tokens.
    if (std::exchange(stop_sources_, false)) scheduler_.stop_source_.request_stop();
    if (std::exchange(announce_cancel_, false)) scheduler_.cancel_source_.request_stop();
    if (std::exchange(release_graph_, false)) scheduler_.graph_->release();
  }

  Scheduler& scheduler_;
  std::unique_lock<std::mutex> lock_;
  Tickets* mine_;
  boost::container::small_vector<Node*, 8> touched_;
  boost::container::small_vector<Node*, 8> tickets_;
  std::vector<Message> trash_;
  bool stop_sources_ = false;
  bool announce_cancel_ = false;
  bool release_graph_ = false;
};

}  // namespace tofstream
