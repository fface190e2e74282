// A critical section of the run: it holds the one lock and gathers what changed. On leaving it looks at what that made
// possible, and then does what must happen outside the lock: it starts work on the flow graph, destroys payloads and
// stops tokens.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/run/dispatch.hpp"
#include "core/run/message.hpp"
#include "core/run/node.hpp"
#include "core/run/run_state.hpp"

#if defined(TOFSTREAM_SANITIZE_THREAD)
#include <sanitizer/tsan_interface.h>
#endif

namespace tofstream {

// libtbb hands tickets from thread to thread, and ThreadSanitizer cannot see how: these tell it. Whoever takes over
// knows the worker's address without reading anything that another thread wrote.
#if defined(TOFSTREAM_SANITIZE_THREAD)
inline void hand_over(FlowGraph::Worker& worker) {
  __tsan_release(&worker);
}
inline void take_over(FlowGraph::Worker& worker) {
  __tsan_acquire(&worker);
}
#else
inline void hand_over(FlowGraph::Worker&) {}
inline void take_over(FlowGraph::Worker&) {}
#endif

// Tells the processor that a loop waits.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Section {
 public:
  using Tickets = std::vector<Node*>;

  // A worker of the flow graph gives the list of what it goes on with: tickets of quick gadgets are put there, and one
  // of any other gadget where the list is empty.
  explicit Section(Dispatch& dispatch, Tickets* mine = nullptr)
      : dispatch_(dispatch), state_(dispatch.state()), lock_(state_.mutex, std::defer_lock), mine_(mine) {
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
  void release_flow_on_leaving() { release_flow_ = true; }

  // Lets the lock go until the node can go on in the way it waits for, or the run is cancelled.
  void wait(Node& node, Node::Waiting what, std::size_t port = 0) {
    node.waiting = what;
    node.waiting_port = port;
    node.waits_since = std::chrono::steady_clock::now();
    --state_.active;
    settle();
    leave();
    lock_.lock();
    node.wake.wait(lock_, [&] { return state_.cancelled || dispatch_.can_go_on(node); });
    node.waiting = Node::Waiting::no;
    node.takes_any_room = false;
    ++state_.active;
  }

  // Lets the lock go until the edge has something to move between memory and disk, or the run is cancelled.
  void wait(Edge& edge) {
    const auto can_go_on = [&] { return state_.cancelled || edge.has_to_move(); };
    if (can_go_on()) return;
    --state_.active;
    settle();
    leave();
    lock_.lock();
    edge.mover_wakes.wait(lock_, can_go_on);
    ++state_.active;
  }

 private:
  void settle() {
    while (!touched_.empty()) {
      Node& node = *touched_.back();
      touched_.pop_back();
      node.is_touched = false;
      dispatch_.examine(*this, node);
    }
    dispatch_.check_progress(*this);
  }

  void leave() {
    lock_.unlock();
    if (mine_ && mine_->empty() && !tickets_.empty()) {
      mine_->push_back(tickets_.back());
      tickets_.pop_back();
    }
    if (!tickets_.empty()) hand_over(dispatch_.flow().worker());
    for (const Node* node : tickets_) dispatch_.flow().put(node->index);
    tickets_.clear();
    trash_.clear();
    // These two call what gadgets have put behind the tokens.
    if (std::exchange(stop_sources_, false)) state_.stop_source.request_stop();
    if (std::exchange(announce_cancel_, false)) state_.cancel_source.request_stop();
    if (std::exchange(release_flow_, false)) dispatch_.flow().release();
  }

  Dispatch& dispatch_;
  RunState& state_;
  std::unique_lock<std::mutex> lock_;
  Tickets* mine_;
  boost::container::small_vector<Node*, 8> touched_;
  boost::container::small_vector<Node*, 8> tickets_;
  std::vector<Message> trash_;
  bool stop_sources_ = false;
  bool announce_cancel_ = false;
  bool release_flow_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
