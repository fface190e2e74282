// Gates of a scan whose object moves and comes back, such as a chest that breathes: the events of one state of the
// movement, gathered from all its cycles, are an image of their own, or part of one image of all gates.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/attenuated.hpp"
#include "gadgets/cut_in_time.hpp"
#include "gadgets/gating/petsird_signal.hpp"
#include "gadgets/io/motion/signal_table.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/recalled_frames.hpp"
#include "gadgets/subset/shared_frames.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/subset_cutter.hpp"
#include "gadgets/subset/whole_stream.hpp"
#include "kernels/gating/centre_of_mass.hpp"
#include "kernels/gating/gates.hpp"

namespace tofstream {

/// What says in which state the object is.
enum class GateSignal { data, table, petsird };
constexpr auto enum_names(GateSignal) {
  return names(GateSignal::data, "data", GateSignal::table, "table", GateSignal::petsird, "petsird");
}
enum class GateBy { amplitude, phase };
constexpr auto enum_names(GateBy) {
  return names(GateBy::amplitude, "amplitude", GateBy::phase, "phase");
}
constexpr auto enum_names(GateBounds) {
  return names(GateBounds::equal_time, "equal_time", GateBounds::equal_amplitude, "equal_amplitude");
}
/// One image a gate, or one of all.
enum class GateImages { each, one };
constexpr auto enum_names(GateImages) {
  return names(GateImages::each, "each", GateImages::one, "one");
}

namespace {

struct Gating {
  struct Params : SharedFramesParams {
    int gates = 6;
    GateSignal signal = GateSignal::data;
    std::filesystem::path file;
    int signal_id = -1;
    GateBy by = GateBy::amplitude;
    GateBounds bounds = GateBounds::equal_time;
    double longest_cycle_s = 0, longest_step_s = 0;
    double drift_s = 20;
    GateImages images = GateImages::each;
    std::filesystem::path trace = "trace.csv";
    int subsets = 4;
    double reference_s = 1;
  };
  static constexpr auto params =
      describe(
          param<&Params::gates>("gates", range(2, 100), "How many gates"),
          param<&Params::signal>("signal",
                                 "What tells the state of the object. data: the events' centre of mass, five times a "
                                 "second; table: a CSV; petsird: an external signal of a PETSIRD file"),
          param<&Params::file>(
              "file", reads_file,
              "Of signal: table, a CSV with time_s and value, or with time_s of triggers alone; of signal: "
              "petsird, the file that is reconstructed"),
          param<&Params::signal_id>("signal_id", range(-1, 2147483647),
                                    "Of signal: petsird, which one; -1: the only one there is"),
          param<&Params::by>(
              "by",
              "amplitude: gate 1 has the lowest values of the signal; phase: gate 1 begins with each cycle, "
              "which is a trigger, or where the signal rises through its median"),
          param<&Params::bounds>(
              "bounds",
              "Of by: amplitude: equal_time: all gates have as much time; equal_amplitude: they are equal "
              "steps of the signal"),
          param<&Params::longest_cycle_s>("longest_cycle_s", range(0, 1e9), unit("s"),
                                          "Of by: phase: a longer cycle lacks a trigger, and is left out; 0: none is"),
          param<&Params::longest_step_s>(
              "longest_step_s", range(0, 1e9), unit("s"),
              "Between two values of the signal, or triggers, that are further apart it pauses, and "
              "what comes then is in no gate; 0: ten times its usual step"),
          param<&Params::drift_s>(
              "drift_s", range(1, 1e9), unit("s"),
              "Of signal: data: what is slower than this is no movement, but a tracer that spreads"),
          param<&Params::images>(
              "images",
              "each: a reconstruction of its own for each gate; one: subsets of all gates, for an image "
              "through gate_warp"),
          param<&Params::trace>("trace", in_run_folder,
                                "Of signal: data: name in the output folder of the signal that was found, as a CSV"),
          param<&Params::subsets>("subsets", range(1, 100000), "Subsets of each gate"),
          param<&Params::reference_s>(
              "reference_s", range(0, 1e9), unit("s"),
              "Length of scan time whose decays an image counts: 1 makes it the mean activity over "
              "the gate's time; 0: that time itself, of images: one that of all gates")) +
      SharedFramesParams::params;
  static MemoryNeed memory(const Params& p) {
    return {.gives_on_device = wants_cuda(p.backend), .note = keeps_events_note};
  }
  static constexpr bool own_thread = true;  // emits every iteration from flush, held back by the edge
  static constexpr bool harmless = true;

  Gating(const Params& p, Context& context)
      : p_(p),
        store_(shared_store_settings(p)),
        recalled_(p.images == GateImages::each ? recalled_here(p.resume_from) : std::filesystem::path()),
        shared_(p.groups, p.resume_from, p.gates),
        centre_(interval_s) {
    if (p.groups > 1 && p.images == GateImages::one)
      throw std::invalid_argument(
          "groups: of one image there is nothing to share: leave groups out, or say images: each");
    if (p.images == GateImages::one) resumed_ = checkpoint_step(p.resume_from);
    if ((p.signal == GateSignal::data) != p.file.empty())
      throw std::invalid_argument(p.file.empty()
                                      ? "file: say which file has the signal, or take signal: data"
                                      : "signal: data takes no file: leave `file` out, or say signal: table");
    if (p.signal == GateSignal::table) signal_ = formats::read_signal_table(p.file);
    if (p.signal == GateSignal::petsird)
      signal_ = read_petsird_signal(
          p.file, p.signal_id < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(p.signal_id)));
    if (p.signal != GateSignal::data) find_gates(context);  // what cannot be is said before any event is read
    if (p.signal == GateSignal::data) context.output_file(p.trace);
  }

  void process(EventBatch batch, Emit<EventSubset>& emit, Context& context) {
    if (batch.count > 0) require_one_kind(batch, delayed_);
    if (batch.scanner && !std::exchange(is_announced_, true)) {
      announcement_ = announcement_of(announced_by(batch));
      if (!shared_.collects()) announce(emit, context);
    }
    if (batch.count > 0 && !(batch.duration_s > 0))
      throw std::runtime_error("the events state no scan time, so nobody knows which gate they belong to");
    if (p_.signal == GateSignal::data && batch.count > 0) look_at(batch, context);
    warn_of_attenuation(batch, context);
    quantity_.add(batch.quantity);
    held_.emplace_back(store_.hold(std::move(batch)), context.message());
  }

  void flush(Emit<EventSubset>& emit, Context& context) {
    if (held_.empty()) return;
    if (p_.signal == GateSignal::data) find_movement(context);
    for (int gate = 0; gate < p_.gates; ++gate)
      gates_.push_back({WholeStream({p_.subsets, p_.cut, p_.least_events, reference_of_a_gate_s()}), 0, 0, 0});
    for (auto& [batch, message] : std::exchange(held_, {})) deal(std::move(batch), message, context);
    report(context);
    require_events();
    if (p_.images == GateImages::each)
      send_each(emit, context);
    else
      send_one(emit, context);
    context.report("events_kept", store_.in_words());
  }

 private:
  static constexpr double interval_s = 0.2;  // of the signal from the data

  struct Gate {
    WholeStream stream;
    double seconds = 0, exposed_s = 0;
    std::int64_t events = 0;
  };

  // One image's reference time is the same for all gates, and known when all are there.
  double reference_of_a_gate_s() const {
    return p_.images == GateImages::one && p_.reference_s == 0 ? 1 : p_.reference_s;
  }

  void look_at(const EventBatch& batch, Context& context) {
    if (batch.duration_s > interval_s && !std::exchange(warned_of_long_, true))
      context.log().warning(fmt::format(
          "events come in batches of {:.2g} s, and their movement is looked at each {:g} s: give the decoder fewer "
          "batch_events",
          batch.duration_s, interval_s));
    has_tof_ = has_tof_ || batch.view().has_tof();
    if (on_host(batch.memory()))
      centre_.add(batch);
    else
      centre_.add(batch.to(Memory::host));
  }

  void warn_of_attenuation(const EventBatch& batch, Context& context) {
    if (warned_of_attenuation_ || !is_attenuated(batch)) return;
    warned_of_attenuation_ = true;
    context.log().warning(
        "attenuation does not follow the gates: a mu map is of one state, and what moves through it has another "
        "(tofstream docs gates)");
  }

  void find_movement(Context& context) {
    const CentreMovement movement = centre_.movement(p_.drift_s);
    signal_ = movement.signal;
    formats::write_signal_table(context.output_file(p_.trace), signal_);
    context.report("trace_to_noise", movement.to_noise);
    context.report("trace_direction", std::vector<double>(movement.direction.begin(), movement.direction.end()));
    constexpr double hardly_any = 1.5;
    if (movement.to_noise < hardly_any)
      context.log().warning(fmt::format(
          "the events show hardly any movement: their centre of mass varies {:.2f} times as much as by chance, so the "
          "gates are hardly states of anything",
          movement.to_noise));
    if (!has_tof_)
      context.log().warning(
          "the events have no ToF, so their centre of mass is that of the middles of their lines, which follow a "
          "movement across the axis weakly");
    find_gates(context);
  }

  void find_gates(Context& context) {
    if (p_.by == GateBy::amplitude && signal_.value.empty())
      throw std::invalid_argument("the signal has triggers and no values: say by: phase");
    constexpr double usual_steps = 10;
    signal_.longest_step_s = p_.longest_step_s > 0 ? p_.longest_step_s : usual_steps * usual_step_s(signal_);
    tell_of_pauses(context);
    try {
      stretches_ = p_.by == GateBy::amplitude ? gates_by_amplitude(signal_, p_.gates, p_.bounds)
                                              : gates_by_phase(signal_, p_.gates, p_.longest_cycle_s);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(
          fmt::format("{}: {}", p_.file.empty() ? "the events' centre of mass" : p_.file.string(), error.what()));
    }
  }

  void tell_of_pauses(Context& context) const {
    int pauses = 0;
    double sum_s = 0;
    for (std::size_t i = 1; i < signal_.time_s.size(); ++i)
      if (signal_.pauses_before(i)) {
        ++pauses;
        sum_s += signal_.time_s[i] - signal_.time_s[i - 1];
      }
    if (pauses > 0)
      context.log().warning(
          fmt::format("pauses of the signal: {}, {:.4g} s in all (longest_step_s: {:g}): what comes then is in no gate",
                      pauses, sum_s, signal_.longest_step_s));
  }

  // A piece belongs to the gate in which its middle lies.
  void deal(EventBatch batch, const MessageInfo& message, Context& context) {
    const std::vector<double> changes_s = gate_changes(stretches_, batch.start_s, batch.start_s + batch.duration_s);
    warn_of_changes(batch, changes_s, context);
    for (EventBatch& piece : cut_in_time(std::move(batch), changes_s)) {
      const int number = gate_at(stretches_, piece.start_s + 0.5 * piece.duration_s);
      if (number == 0) {
        if (!piece.delayed) without_gate_s_ += piece.duration_s;
        if (piece.count > 0) context.books().rejected(piece.event_count(), "in no gate");
        continue;
      }
      Gate& gate = gates_[static_cast<std::size_t>(number - 1)];
      gate.events += static_cast<std::int64_t>(piece.event_count());
      gate.seconds += piece.duration_s;
      gate.exposed_s += piece.duration_s * piece.exposure;
      gate.stream.take(std::move(piece), message, store_);
    }
  }

  void warn_of_changes(const EventBatch& batch, const std::vector<double>& changes_s, Context& context) {
    constexpr std::size_t many = 4;
    if (warned_of_changes_ || changes_s.size() < many || batch.count < 2) return;
    warned_of_changes_ = true;
    context.log().warning(
        fmt::format("events come in batches of {:.2g} s, within which the gate changes {} times from {:g} s on: which "
                    "of them belong "
                    "to it is known only as if they came evenly; give the decoder fewer batch_events",
                    batch.duration_s, changes_s.size(), batch.start_s));
  }

  void require_events() const {
    for (std::size_t gate = 0; gate < gates_.size(); ++gate)
      if (gates_[gate].events == 0)
        throw std::runtime_error(
            fmt::format("gate {} of {} has no event: ask for fewer gates, or give a signal that covers the scan",
                        gate + 1, gates_.size()));
  }

  void send_each(Emit<EventSubset>& emit, Context& context) {
    std::int64_t updates_before = 0;
    bool began = false;
    for (std::size_t g = 0; g < gates_.size(); ++g) {
      Gate& gate = gates_[g];
      const int number = static_cast<int>(g) + 1;
      const bool is_here = shared_.takes(number);
      if (!is_here && !shared_.collects()) {
        context.books().rejected(gate.stream.event_count(), "in a gate of another group");
        continue;
      }
      const bool is_first = !std::exchange(began, true);
      if (!is_first) ++updates_before;
      const ScanFrame frame{.number = number, .frames = p_.gates, .start_s = 0, .duration_s = gate.seconds};
      // Images that others make need no projector, which would prepare itself for a restart.
      if (!is_here && recall(frame, gate, is_here, updates_before, emit, context)) continue;
      announce(emit, context);
      if (!is_first) restart(updates_before, emit, context);
      if (is_here && recall(frame, gate, is_here, updates_before, emit, context)) continue;
      OfflineUpdates<EventBatch> updates({.iterations = p_.iterations,
                                          .holds_last = true,
                                          .order = {p_.order, p_.seed},
                                          .frame = frame,
                                          .updates_before = updates_before},
                                         [&gate] { return gate.stream.quantity(); });
      gate.stream.cut(
          store_,
          [&](int subsets, Conditions mean) {
            updates.set_conditions(std::move(mean));
            updates.expect(subsets);
          },
          [&](StoredEvents subset, const MessageInfo& data) {
            subset.gate = number;
            updates.arrive(std::move(subset), data, emit, context);
          });
      updates.finish(emit, context);
      updates_before = updates.updates();
    }
    shared_.report(context);
  }

  // Once, unless it was done.
  void announce(Emit<EventSubset>& emit, Context& context) {
    if (!announcement_) return;
    context.made_from(of_no_event(context.message()));
    emit(*std::exchange(announcement_, std::nullopt));
  }

  // An update knows nothing of the gate before.
  static void restart(std::int64_t update, Emit<EventSubset>& emit, Context& context) {
    context.made_from(of_no_event(context.message()));
    emit(restart_of<EventBatch>(update));
  }

  // Sends for the image of a gate that a run before has completed, or another group. False where there is none.
  bool recall(const ScanFrame& frame, const Gate& gate, bool is_here, std::int64_t& updates_before,
              Emit<EventSubset>& emit, Context& context) {
    if (recalled_.is_over() && is_here) return false;
    const int subsets = gate.stream.subsets();
    const FrameToCome to_come{.frame = frame,
                              .frames = p_.gates,
                              .gate = frame.number,
                              .subsets = subsets,
                              .iterations = p_.iterations,
                              .updates_before = updates_before,
                              .events = gate.stream.event_count()};
    auto step = recalled_.recall(to_come, context);
    if (!step && !is_here) step = shared_.image(to_come, context);
    if (!step) return false;
    context.made_from(gate.stream.data());
    emit({.step = *step, .batches = {}});
    updates_before += std::int64_t{subsets} * p_.iterations;
    return true;
  }

  struct GateSubset {
    StoredEvents subset;
    MessageInfo data;
  };

  // Subsets of all gates, whose gates take turns.
  void send_one(Emit<EventSubset>& emit, Context& context) {
    MeanConditions conditions;
    std::vector<std::vector<GateSubset>> of_gates(gates_.size());
    for (std::size_t g = 0; g < gates_.size(); ++g)
      gates_[g].stream.cut(
          store_, [&](int, const Conditions& mean) { conditions.add(mean, gates_[g].exposed_s); },
          [&](StoredEvents subset, const MessageInfo& data) {
            subset.gate = static_cast<int>(g) + 1;
            of_gates[g].push_back({std::move(subset), data});
          });
    const double reference_s = p_.reference_s > 0 ? p_.reference_s : all_seconds();
    const auto times = std::make_shared<std::vector<double>>(gates_.size(), 0.0);
    for (std::size_t g = 0; g < of_gates.size(); ++g)
      for (GateSubset& each : of_gates[g]) {
        each.subset.time_fraction *= reference_of_a_gate_s() / reference_s;
        (*times)[g] += each.subset.time_fraction;
      }
    OfflineUpdates<EventBatch> updates({.iterations = p_.iterations,
                                        .holds_last = true,
                                        .order = {p_.order, p_.seed},
                                        .gate_times = times,
                                        .resumed = resumed_},
                                       [this, reference_s] { return quantity_.get(reference_s); });
    updates.set_conditions(conditions.get());
    updates.expect(std::accumulate(of_gates.begin(), of_gates.end(), 0, [](int sum, const auto& of_gate) {
      return sum + static_cast<int>(of_gate.size());
    }));
    for (std::size_t k = 0; k < static_cast<std::size_t>(p_.subsets); ++k)
      for (auto& of_gate : of_gates)
        if (k < of_gate.size()) updates.arrive(std::move(of_gate[k].subset), of_gate[k].data, emit, context);
    updates.finish(emit, context);
  }

  double all_seconds() const {
    double sum = 0;
    for (const Gate& gate : gates_) sum += gate.seconds;
    return sum;
  }

  void report(Context& context) const {
    std::vector<double> seconds, events;
    for (const Gate& gate : gates_) {
      seconds.push_back(gate.seconds);
      events.push_back(static_cast<double>(gate.events));
    }
    context.report("gate_s", seconds);
    context.report("gate_events", events);
    if (without_gate_s_ > 0) context.report("without_gate_s", without_gate_s_);
    constexpr double worth_telling = 0.05;
    if (without_gate_s_ > worth_telling * (without_gate_s_ + all_seconds()))
      context.log().warning(
          fmt::format("{:.0f} % of the scan is in no gate: the signal does not cover it, or lacks cycles",
                      100 * without_gate_s_ / (without_gate_s_ + all_seconds())));
  }

  Params p_;
  EventStore store_;
  RecalledFrames recalled_;  // of images each
  SharedFrames shared_;      // likewise
  CheckpointStep resumed_;   // of one image
  CentreOfMass centre_;
  MotionSignal signal_;
  std::vector<GateStretch> stretches_;
  std::vector<std::pair<EventBatch, MessageInfo>> held_;
  std::vector<Gate> gates_;
  SubsetQuantity quantity_;  // of all gates
  double without_gate_s_ = 0;
  std::optional<EventSubset> announcement_;  // that was not sent yet
  bool is_announced_ = false, has_tof_ = false, warned_of_long_ = false, warned_of_changes_ = false,
       warned_of_attenuation_ = false;
  std::optional<bool> delayed_;
};

TOFSTREAM_GADGET(Gating, "gating",
                 "Gathers the events of each state of a movement that comes again, such as breathing: gates");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
