// The parts of the planner that need no type of ours: what is skipped, and what does not fit.
#include "gadgets/io/petsird/plan.hpp"

#include <algorithm>

namespace tofstream::petsird {

namespace {

Plan::Op op_of(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::optional:
      return Plan::Op::optional;
    case Type::Kind::choice:
      return Plan::Op::choice;
    case Type::Kind::stream:
      return Plan::Op::stream;
    case Type::Kind::list:
    case Type::Kind::array:
      return Plan::Op::list;
    default:
      return Plan::Op::record;
  }
}

}  // namespace

bool detail::is_all_float32(const Type& type) {
  switch (type.kind) {
    case Type::Kind::primitive:
      return type.encoding == Encoding::float32;
    case Type::Kind::record:
    case Type::Kind::list:
    case Type::Kind::array:
      return type.fixed_bytes && std::all_of(type.parts.begin(), type.parts.end(),
                                             [](const Part& part) { return is_all_float32(*part.type); });
    default:
      return false;
  }
}

const Plan& Planner::misfit(const Type& type, const std::string& path) {
  problems_.push_back(fmt::format("{} has another shape ({})", path, type.name));
  return skip(type);
}

const Plan& Planner::skip(const Type& type) {
  const Plan*& known = skips_[&type];
  if (known != nullptr) return *known;
  Plan plan;
  if (type.fixed_bytes) {
    plan = {.op = Plan::Op::skip_bytes, .size = *type.fixed_bytes};
  } else if (type.fixed_varints) {
    plan = {.op = Plan::Op::skip_varints, .size = *type.fixed_varints};
  } else if (type.kind == Type::Kind::primitive) {  // text: counted bytes
    plan.op = Plan::Op::list;
    plan.steps = {{"", &add({.op = Plan::Op::skip_bytes, .size = 1})}};
  } else {
    plan.op = op_of(type.kind);
    plan.length = type.length.value_or(1);
    plan.rank = type.length ? 0 : type.kind == Type::Kind::array ? type.rank : 1;
    for (const Part& part : type.parts) plan.steps.push_back({part.name, &skip(*part.type)});
  }
  return *(known = &add(std::move(plan)));
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
