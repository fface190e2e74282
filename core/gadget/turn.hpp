// What Context::take_turn returns. Who takes turns with whom is the business of the one that gives them
// (core/gadget/turns.hpp), of which an author's code knows nothing.
#pragma once
#include <utility>

namespace tofstream {

// A run's turn at what several runs share. It ends when this object is destroyed.
class Turn {
 public:
  class Giver {
   public:
    virtual void end_turn() = 0;

   protected:
    ~Giver() = default;
  };

  // The turn of a run that is alone: there is nothing to give back.
  Turn() = default;
  explicit Turn(Giver& giver) : giver_(&giver) {}
  Turn(Turn&& other) noexcept : giver_(std::exchange(other.giver_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (giver_) giver_->end_turn();
  }

 private:
  Giver* giver_ = nullptr;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
