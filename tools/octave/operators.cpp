// The operators of a session: see operators.hpp.
#include "operators.hpp"

#include <map>
#include <random>

#include <unistd.h>

#include "values.hpp"

namespace tofstream::octave {
namespace {

struct Kept {
  tof_operator* op = nullptr;
  pid_t process = 0;
};

std::map<std::uint64_t, Kept> kept_operators;

// Begins by chance: a number from another session, such as in an object that was saved, is none of this one.
std::uint64_t next_identity() {
  static std::uint64_t next = (std::uint64_t{std::random_device{}()} << 32U) + 1;
  return next++;
}

}  // namespace

std::uint64_t keep_operator(tof_operator* op) {
  const std::uint64_t identity = next_identity();
  kept_operators[identity] = {op, ::getpid()};
  return identity;
}

tof_operator* operator_of(std::uint64_t identity) {
  const auto found = kept_operators.find(identity);
  if (found == kept_operators.end()) throw Refused("dropped", "this operator was dropped: make it anew");
  if (found->second.process != ::getpid())
    throw Refused("dropped", "this operator was made before the process forked: make it anew in the child");
  return found->second.op;
}

void drop_operator(std::uint64_t identity) {
  const auto found = kept_operators.find(identity);
  if (found == kept_operators.end()) return;
  tof_operator_drop(found->second.op);
  kept_operators.erase(found);
}

void drop_all_operators() {
  for (const auto& [identity, kept] : kept_operators) tof_operator_drop(kept.op);
  kept_operators.clear();
}

std::size_t count_operators() {
  return kept_operators.size();
}

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
