// Several runs in one process share what only one should use at a time, such as the processor that projects: they take
// turns, and each gets the same time, whatever it does in one turn. A run that is alone waits for nobody.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/gadget/turn.hpp"

namespace tofstream {

// Whose turn it is: the order alone, without clock and threads. Times are seconds of one clock. The member that has had
// the least time goes next. A member that is behind, and is away for a moment only, as runs are between two passes, is
// waited for: else a run of short turns would get one for each long turn of another.
class TurnOrder {
 public:
  using Member = std::uint64_t;

  // A new member begins level with the member that has had the least time.
  Member join();
  // Takes away all that the member holds or waits for; later calls for it do nothing.
  void leave(Member member);

  void ask(Member member, double now);
  void withdraw(Member member, double now);
  struct Next {
    std::optional<Member> member;      // whose turn may begin now
    std::optional<double> look_again;  // no turn may begin yet: ask again at this time, if nobody has asked before
  };
  Next next(double now) const;
  // Begins the turn of the member that next() named.
  void begin(Member member, double now);
  void end(Member member, double now);

  double used_s(Member member) const { return members_.at(member).used; }

 private:
  struct State {
    bool has_turn = false;
    int waiting = 0;  // turns that it waits for: one for each gadget of its run
    double asked = 0, began = 0, ended = 0;
    double used = 0;
    double mean_turn = 0, mean_gap = 0;  // of late
    int turns = 0;

    bool is_away() const { return !has_turn && waiting == 0; }
    bool comes_back_at_once() const;
  };

  std::map<Member, State> members_;
  Member next_ = 0;
  double level_ = 0;  // the time that the member which was served last had used before
};

// The order, kept by threads. Safe from any thread.
class Turns {
 public:
  // A run's place among the others, which it leaves when it goes.
  class Place final : private Turn::Giver {
   public:
    explicit Place(std::shared_ptr<Turns> turns);
    ~Place() { leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Waits for its turn; after the stop it returns without one.
    Turn wait(const std::stop_token& stop);
    // From now on nobody waits for this run, whatever it holds.
    void leave();

   private:
    void end_turn() override;

    const std::shared_ptr<Turns> turns_;
    const TurnOrder::Member member_;
  };

 private:
  static double now();
  void tell_all();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t changes_ = 0;
  TurnOrder order_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
