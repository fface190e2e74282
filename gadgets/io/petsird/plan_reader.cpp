// The interpreter of plans: yardl's binary encodings, one function for each kind of value.
#include "gadgets/io/petsird/plan_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

static_assert(std::endian::native == std::endian::little, "the stream's floats are copied as they are");

constexpr std::uint64_t none = 0;
/// Text and floats grow by at most this much before their bytes have been seen.
constexpr std::uint64_t growth_step = 1 << 16;

bool is_leaf(Plan::Op op) {
  return op <= Plan::Op::floats;
}

}  // namespace

bool PlanReader::run() {
  while (!stack_.empty()) {
    if (!step()) return false;
  }
  return true;
}

bool PlanReader::step() {
  switch (stack_.back().plan->op) {
    case Plan::Op::record:
      return step_record();
    case Plan::Op::list:
      return step_list();
    case Plan::Op::stream:
      return step_stream();
    case Plan::Op::optional:
      return step_optional();
    case Plan::Op::choice:
      return step_choice();
    case Plan::Op::events:
      if (!events_.read_events(*this, *stack_.back().plan)) return false;
      pop();
      return true;
    default:
      if (!leaf(*stack_.back().plan, stack_.back().place)) return false;
      pop();
      return true;
  }
}

/// Reads the frame's open part: at once if it is a leaf, else by a frame of its own.
bool PlanReader::part(Frame& frame, const Plan& plan) {
  if (is_leaf(plan.op)) {
    if (!leaf(plan, frame.part)) return false;
    ++frame.index;
    frame.part_open = false;
    if (plan.after) plan.after(frame.part);
    return true;
  }
  ++frame.index;
  frame.part_open = false;
  push(plan, frame.part);
  return true;
}

bool PlanReader::step_record() {
  Frame& frame = stack_.back();
  if (frame.index == frame.plan->steps.size()) {
    pop();
    return true;
  }
  const Step& step = frame.plan->steps[frame.index];
  frame.part = step.place != nullptr ? step.place(frame.place) : nullptr;
  return part(frame, *step.plan);
}

bool PlanReader::step_list() {
  Frame& frame = stack_.back();
  const Plan& plan = *frame.plan;
  const Step& step = plan.steps.front();
  if (!count_items(frame)) return false;
  if (plan.add == nullptr && !skip_items(frame, *step.plan)) return false;
  while (frame.index < frame.count) {
    if (!frame.part_open) {
      if (plan.row != nullptr) copy_floats(frame);
      if (frame.index == frame.count) break;
      const std::uint64_t column = plan.rank == 2 ? frame.index % frame.columns : frame.index;
      frame.part = plan.add != nullptr ? plan.add(frame.place, column) : nullptr;
      frame.part_open = true;
    }
    if (!part(frame, *step.plan)) return false;
    if (!is_leaf(step.plan->op)) return true;  // its frame is on top now
  }
  pop();
  return true;
}

/// A stream comes as lists of items until an empty list; `count` is what is left of the present
/// one.
bool PlanReader::step_stream() {
  Frame& frame = stack_.back();
  if (frame.index == frame.count) {
    if (!input_.varint(frame.count, 64)) return false;
    frame.index = 0;
    if (frame.count == 0) {
      pop();
      return true;
    }
  }
  frame.part = frame.place;
  return part(frame, *frame.plan->steps.front().plan);
}

bool PlanReader::step_optional() {
  Frame& frame = stack_.back();
  const Step& step = frame.plan->steps.front();
  if (!frame.begun) {
    const std::span<const std::byte> flag = input_.take(1);
    if (flag.empty()) return false;
    const auto value = std::to_integer<unsigned>(flag.front());
    if (value > 1) throw DataError(fmt::format("an optional begins with {}, not 0 or 1", value));
    frame.begun = true;
    frame.count = value;
  }
  if (frame.index == frame.count) {
    pop();
    return true;
  }
  if (!frame.part_open) {
    frame.part = step.place != nullptr ? step.place(frame.place) : nullptr;
    frame.part_open = true;
  }
  return part(frame, *step.plan);
}

bool PlanReader::step_choice() {
  Frame& frame = stack_.back();
  const std::vector<Step>& cases = frame.plan->steps;
  if (!frame.begun) {
    std::uint64_t chosen = none;
    if (!input_.varint(chosen, 64)) return false;
    if (chosen >= cases.size()) {
      throw DataError(fmt::format("a union has case {} of {}", chosen, cases.size()));
    }
    frame.begun = true;
    frame.columns = chosen;
  }
  if (frame.index == 1) {
    pop();
    return true;
  }
  const Step& step = cases[frame.columns];
  if (!frame.part_open) {
    frame.part = step.place != nullptr ? step.place(frame.place) : nullptr;
    frame.part_open = true;
  }
  return part(frame, *step.plan);
}

bool PlanReader::count_items(Frame& frame) {
  const Plan& plan = *frame.plan;
  if (frame.counted) return true;
  if (!frame.begun) {
    std::uint64_t rank = plan.rank;
    if (plan.rank == Type::any_rank && !input_.varint(rank, 64)) return false;
    if (rank > 32) throw DataError(fmt::format("an array has {} dimensions", rank));
    frame.to_count = rank;
    frame.count = plan.length;
    frame.begun = true;
  }
  for (; frame.to_count > 0; --frame.to_count) {
    if (!input_.varint(frame.columns, 64)) return false;
    if (frame.columns != 0 && frame.count > std::numeric_limits<std::uint64_t>::max() / frame.columns) {
      throw DataError("the dimensions of an array are beyond 2^64 items");
    }
    frame.count *= frame.columns;
  }
  if (plan.rank == Type::any_rank && plan.add != nullptr && frame.count > 1) {
    throw DataError(fmt::format("{} tables where one is expected", frame.count));
  }
  if (plan.tally != nullptr) *plan.tally += frame.count;
  frame.counted = true;
  return true;
}

/// Passes all items at once where every one has the same size.
bool PlanReader::skip_items(Frame& frame, const Plan& item) {
  if (item.op != Plan::Op::skip_bytes && item.op != Plan::Op::skip_varints) return true;
  if (item.size == 0) frame.index = frame.count;
  while (frame.index < frame.count) {
    const std::uint64_t items = std::min<std::uint64_t>(frame.count - frame.index, 1U << 20);
    const std::uint64_t all = items * item.size;
    while (leaf_.count < all) {
      if (input_.empty()) return false;
      leaf_.count += item.op == Plan::Op::skip_bytes ? input_.take(all - leaf_.count).size()
                                                     : input_.skip_varints(all - leaf_.count);
    }
    leaf_ = {};
    frame.index += items;
  }
  return true;
}

/// Takes a table's floats row by row, as many as are there whole: a scanner's tables of efficiencies have 1e7 and more.
void PlanReader::copy_floats(Frame& frame) {
  while (frame.index < frame.count) {
    const std::uint64_t column = frame.index % frame.columns;
    const std::uint64_t floats = std::min<std::uint64_t>(frame.columns - column, input_.rest().size() / sizeof(float));
    if (floats == 0) return;
    std::vector<float>& row = frame.plan->row(frame.place, column);
    row.resize(column + floats);
    const std::span<const std::byte> bytes = input_.take(floats * sizeof(float));
    std::memcpy(row.data() + column, bytes.data(), bytes.size());
    frame.index += floats;
  }
}

bool PlanReader::leaf(const Plan& plan, void* place) {
  std::int64_t value = 0;
  double number = 0;
  switch (plan.op) {
    case Plan::Op::skip_bytes:
    case Plan::Op::skip_varints:
      while (leaf_.count < plan.size) {
        if (input_.empty()) return false;
        leaf_.count += plan.op == Plan::Op::skip_bytes ? input_.take(plan.size - leaf_.count).size()
                                                       : input_.skip_varints(plan.size - leaf_.count);
      }
      break;
    case Plan::Op::raw:
      if (!input_.copy(place, plan.size, leaf_.done)) return false;
      break;
    case Plan::Op::text:
      if (!leaf_text(*static_cast<std::string*>(place))) return false;
      break;
    case Plan::Op::floats:
      if (!leaf_floats(*static_cast<std::vector<float>*>(place))) return false;
      break;
    case Plan::Op::real:
      if (!input_.copy(leaf_.bytes.data(), sizeof number, leaf_.done)) return false;
      std::memcpy(&number, leaf_.bytes.data(), sizeof number);
      plan.store_real(place, number);
      break;
    default:
      if (!integer(plan, value)) return false;
      plan.store(place, value);
  }
  leaf_ = {};
  return true;
}

bool PlanReader::leaf_text(std::string& text) {
  if (!leaf_.counted && !input_.varint(leaf_.count, 64)) return false;
  leaf_.counted = true;
  while (text.size() < leaf_.count) {
    const std::span<const std::byte> bytes = input_.take(leaf_.count - text.size());
    if (bytes.empty()) return false;
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return true;
}

bool PlanReader::leaf_floats(std::vector<float>& values) {
  if (!leaf_.counted && !input_.varint(leaf_.count, 64)) return false;
  leaf_.counted = true;
  for (;;) {
    if (leaf_.missing == 0) {
      if (leaf_.count == 0) return true;
      const std::uint64_t likely = std::max<std::uint64_t>(growth_step, input_.rest().size());
      const auto more = static_cast<std::size_t>(std::min(leaf_.count, likely / sizeof(float)));
      values.resize(values.size() + more);
      leaf_.missing = more * sizeof(float);
      leaf_.count -= more;
    }
    const std::span<const std::byte> bytes = input_.take(leaf_.missing);
    if (bytes.empty()) return false;
    auto* end = reinterpret_cast<std::byte*>(values.data() + values.size());
    std::memcpy(end - leaf_.missing, bytes.data(), bytes.size());
    leaf_.missing -= bytes.size();
  }
}

bool PlanReader::integer(const Plan& plan, std::int64_t& value) {
  std::uint64_t bits = none;
  if (plan.encoding == Encoding::byte) {
    const std::span<const std::byte> byte = input_.take(1);
    if (byte.empty()) return false;
    bits = std::to_integer<std::uint64_t>(byte.front());
  } else if (!input_.varint(bits, plan.bits)) {
    return false;
  }
  value = plan.encoding == Encoding::zigzag ? from_zigzag(bits) : static_cast<std::int64_t>(bits);
  if (plan.op != Plan::Op::symbol) return true;
  for (const auto& [theirs, ours] : plan.symbols) {
    if (theirs == value) {
      value = ours;
      return true;
    }
  }
  throw DataError(fmt::format("an enumeration has the unknown value {}", value));
}

void PlanReader::push(const Plan& plan, void* place) {
  if (stack_.size() == deepest) throw DataError("values are nested deeper than 128");
  stack_.push_back({.plan = &plan, .place = place});
}

void PlanReader::pop() {
  const Frame done = stack_.back();
  stack_.pop_back();
  if (done.plan->after) done.plan->after(done.place);
}

bool PlanReader::between_stream_items() const {
  return stack_.size() <= 2 && stack_.back().plan->op == Plan::Op::stream &&
         stack_.back().index == stack_.back().count && !input_.inside_varint();
}

std::string PlanReader::path() const {
  std::string path;
  for (std::size_t i = 0; i < stack_.size(); ++i) {
    const Frame& frame = stack_[i];
    const bool innermost = i + 1 == stack_.size();
    const std::uint64_t index = innermost || frame.index == 0 ? frame.index : frame.index - 1;
    const std::vector<Step>& steps = frame.plan->steps;
    switch (frame.plan->op) {
      case Plan::Op::record:
        if (index < steps.size() && !steps[index].name.empty()) {
          path += (path.empty() ? "" : ".") + steps[index].name;
        }
        break;
      case Plan::Op::choice:
        if (frame.begun) path += '.' + steps[frame.columns].name;
        break;
      case Plan::Op::list:
        if (frame.counted) path += fmt::format("[{}]", index);
        break;
      default:
        break;
    }
  }
  return path;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
