// Plans the steps of the protocol. Event blocks are taken apart here, since they are delivered
// while they are read; every other block is read into a struct. Blocks and lists that nobody knows
// are passed and counted.
#include "gadgets/io/petsird/stream_plan.hpp"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

constexpr std::array<std::string_view, 6> block_types{"EventTimeBlock",       "ExternalSignalTimeBlock",
                                                      "BedMovementTimeBlock", "GantryMovementTimeBlock",
                                                      "DeadTimeTimeBlock",    "SinglesHistogramTimeBlock"};

bool is_uint32(const Type& type) {
  return type.kind == Type::Kind::primitive && type.encoding == Encoding::varint && type.bits == 32;
}

/// CoincidenceEvent: detectionBins, two uint32, then tofIdx, one.
bool is_coincidence(const Type& type) {
  if (type.kind != Type::Kind::record || type.parts.size() != 2) return false;
  const Part& bins = type.parts[0];
  const Part& tof = type.parts[1];
  return bins.name == "detectionBins" && bins.type->fixed_varints == 2U && bins.type->kind == Type::Kind::list &&
         is_uint32(bins.type->item()) && tof.name == "tofIdx" && is_uint32(*tof.type);
}

class StreamPlanner {
 public:
  StreamPlanner(Planner& planner, StreamState& state, const StreamHooks& hooks)
      : planner_(planner), state_(state), hooks_(hooks) {}

  const Plan& plan(const Schema& schema) {
    Plan whole{.op = Plan::Op::record};
    bool header_planned = false;
    bool blocks_planned = false;
    for (const Part& step : schema.steps()) {
      const Plan* plan = nullptr;
      if (step.name == "header") {
        plan = &header(*step.type);
        header_planned = true;
      } else if (step.name == "timeBlocks" && header_planned) {
        plan = &blocks(*step.type);
        blocks_planned = true;
      } else {
        plan = &planner_.skip(*step.type);
      }
      whole.steps.push_back({step.name, plan, [](void* state) { return state; }});
    }
    if (!header_planned) planner_.problems().emplace_back("header is missing");
    if (!blocks_planned) planner_.problems().emplace_back("timeBlocks is missing after the header");
    return planner_.add(std::move(whole));
  }

 private:
  /// The same plan, and then the hook.
  const Plan& then(const Plan& plan, std::function<void(void*)> after) {
    return planner_.add(
        {.op = Plan::Op::record, .steps = {{"", &plan, [](void* place) { return place; }}}, .after = std::move(after)});
  }

  const Plan& header(const Type& type) {
    const Plan& read = planner_.add(
        {.op = Plan::Op::record, .steps = {{"", &planner_.read<Header>(type, "header"), [](void* state) -> void* {
                                              return &static_cast<StreamState*>(state)->header;
                                            }}}});
    return then(read, [this_hooks = &hooks_](void*) { this_hooks->header(); });
  }

  const Plan& blocks(const Type& type) {
    if (type.kind != Type::Kind::stream || type.item().kind != Type::Kind::choice) {
      planner_.problems().emplace_back("timeBlocks has another shape");
      return planner_.skip(type);
    }
    Plan choice{.op = Plan::Op::choice};
    bool events_planned = false;
    for (const Part& part : type.item().parts) {
      choice.steps.push_back(block(part));
      events_planned = events_planned || part.name == block_types[0];
    }
    if (!events_planned) planner_.problems().emplace_back("TimeBlock.EventTimeBlock is missing");
    return planner_.add({.op = Plan::Op::stream, .steps = {{"", &planner_.add(std::move(choice))}}});
  }

  Step block(const Part& part) {
    const auto same = [](void* state) { return state; };
    if (part.name == block_types[0]) return {part.name, &event_block(*part.type), same};
    Step step{.name = part.name};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)(other_block<I>(step, *part.type) || ...);
    }
    (std::make_index_sequence<std::variant_size_v<OtherBlock>>());
    if (step.plan == nullptr) step = {part.name, &unknown_block(*part.type), same};
    return step;
  }

  template <std::size_t I>
  bool other_block(Step& step, const Type& type) {
    if (step.name != block_types[I + 1]) return false;
    const std::size_t problems = planner_.problems().size();
    const Plan& plan = planner_.read<std::variant_alternative_t<I, OtherBlock>>(type, step.name);
    if (planner_.problems().size() > problems) {  // another shape: passed like an unknown block
      planner_.problems().resize(problems);
      return false;
    }
    step.plan = &then(plan, [hooks = &hooks_](void*) { hooks->other_block(static_cast<BlockKind>(I + 1)); });
    step.place = [](void* state) -> void* { return &static_cast<StreamState*>(state)->other.emplace<I>(); };
    return true;
  }

  const Plan& interval(const Type& type, const std::string& path, BlockKind kind) {
    return then(planner_.read<TimeInterval>(type, path), [hooks = &hooks_, kind](void*) { hooks->interval(kind); });
  }

  static void* interval_place(void* state) { return &static_cast<StreamState*>(state)->interval; }

  const Plan& unknown_block(const Type& type) {
    const auto at_end = [hooks = &hooks_, state = &state_](bool has_interval) {
      if (!has_interval) {
        state->interval = {};
        hooks->interval(BlockKind::unknown);
      }
      hooks->end(BlockKind::unknown);
    };
    const bool has_interval = type.kind == Type::Kind::record && !type.parts.empty() &&
                              type.parts[0].name == "timeInterval" && type.parts[0].type->fixed_varints == 2U;
    if (!has_interval) {
      return then(planner_.skip(type), [at_end](void*) { at_end(false); });
    }
    Plan plan{.op = Plan::Op::record, .after = [at_end](void*) { at_end(true); }};
    for (const Part& part : type.parts) {
      plan.steps.push_back({part.name, &planner_.skip(*part.type), nullptr});
    }
    plan.steps[0].plan = &interval(*type.parts[0].type, "timeInterval", BlockKind::unknown);
    plan.steps[0].place = interval_place;
    return planner_.add(std::move(plan));
  }

  const Plan& event_block(const Type& type) {
    const std::string name(block_types[0]);
    if (type.kind != Type::Kind::record || type.parts.empty() || type.parts[0].name != "timeInterval") {
      planner_.problems().push_back(name + " does not begin with timeInterval");
      return planner_.skip(type);
    }
    Plan plan{.op = Plan::Op::record, .after = [hooks = &hooks_](void*) { hooks->end(BlockKind::event); }};
    StreamCounts& counts = state_.counts;
    bool prompts_planned = false;
    for (const Part& part : type.parts) {
      const std::string path = name + '.' + part.name;
      Step step{.name = part.name};
      if (part.name == "timeInterval") {
        step.plan = &interval(*part.type, path, BlockKind::event);
        step.place = interval_place;
      } else if (part.name == "promptEvents") {
        step.plan = &event_table(*part.type, path, EventKind::prompt);
        prompts_planned = true;
      } else if (part.name == "delayedEvents") {
        step.plan = &event_table(*part.type, path, EventKind::delayed);
      } else if (part.name == "singleEvents") {
        step.plan = &counted(*part.type, counts.singles);
      } else if (part.name == "tripleEvents") {
        step.plan = &counted(*part.type, counts.triples);
      } else if (part.name == "quadrupleEvents") {
        step.plan = &counted(*part.type, counts.quadruples);
      } else {
        step.plan = &planner_.skip(*part.type);
      }
      plan.steps.push_back(step);
    }
    if (!prompts_planned) planner_.problems().push_back(name + ".promptEvents is missing");
    return planner_.add(std::move(plan));
  }

  /// [type1][type2] lists of CoincidenceEvent.
  const Plan& event_table(const Type& type, const std::string& path, EventKind kind) {
    if (type.kind == Type::Kind::optional) {
      return planner_.add({.op = Plan::Op::optional, .steps = {{"", &event_table(type.item(), path, kind)}}});
    }
    const auto is_list = [](const Type& t) { return t.kind == Type::Kind::list && !t.length; };
    if (!is_list(type) || !is_list(type.item()) || !is_list(type.item().item()) ||
        !is_coincidence(type.item().item().item())) {
      planner_.problems().push_back(path + " is not [type1][type2] lists of {detectionBins, tofIdx}");
      return planner_.skip(type);
    }
    const Plan& events = planner_.add({.op = Plan::Op::events, .event_kind = kind});
    const Plan& columns = planner_.add({.op = Plan::Op::list, .steps = {{"", &events}}});
    return planner_.add({.op = Plan::Op::list, .steps = {{"", &columns}}});
  }

  /// Nested lists whose innermost items are counted and passed.
  const Plan& counted(const Type& type, std::uint64_t& count) {
    const auto is_list = [](const Type& t) { return t.kind == Type::Kind::list && !t.length; };
    if (!is_list(type)) return planner_.skip(type);
    const Type& item = type.item();
    return planner_.add({.op = Plan::Op::list,
                         .steps = {{"", is_list(item) ? &counted(item, count) : &planner_.skip(item)}},
                         .tally = is_list(item) ? nullptr : &count});
  }

  Planner& planner_;
  StreamState& state_;
  const StreamHooks& hooks_;
};

}  // namespace

std::uint64_t StreamCounts::time_blocks() const {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
}

const Plan& plan_stream(Planner& planner, const Schema& schema, StreamState& state, const StreamHooks& hooks) {
  const Plan& plan = StreamPlanner(planner, state, hooks).plan(schema);
  if (!planner.problems().empty()) {
    throw Error(
        fmt::format("PETSIRD schema {:.16} ({}) lacks what is needed to read coincidences: {}; "
                    "convert the file with PETSIRD's tools to v0.8-v0.10",
                    schema.sha256(), version_name(schema.version()), fmt::join(planner.problems(), ", ")));
  }
  return plan;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
