// Decodes a PETSIRD byte stream into batches of events: detection bins become detectors, ToF bins become mm.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "core/run/run_control.hpp"
#include "gadgets/io/petsird/decoder.hpp"
#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/live_time.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/singles.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/batch_builder.hpp"
#include "kernels/types/rigid_pose.hpp"

namespace tofstream {

enum class DecodedEvents { prompts, delayeds, both };
constexpr auto enum_names(DecodedEvents) {
  return names(DecodedEvents::prompts, "prompts", DecodedEvents::delayeds, "delayeds", DecodedEvents::both, "both");
}
enum class OnGantryMovement { refuse, ignore, follow };
constexpr auto enum_names(OnGantryMovement) {
  return names(OnGantryMovement::refuse, "refuse", OnGantryMovement::ignore, "ignore", OnGantryMovement::follow,
               "follow");
}
enum class OnMovement { refuse, ignore, bed_to_scanner, scanner_to_bed };
constexpr auto enum_names(OnMovement) {
  return names(OnMovement::refuse, "refuse", OnMovement::ignore, "ignore", OnMovement::bed_to_scanner, "bed_to_scanner",
               OnMovement::scanner_to_bed, "scanner_to_bed");
}

namespace {

struct PetsirdDecoder : private petsird::Handler {
  struct Params {
    DecodedEvents events = DecodedEvents::prompts;
    int batch_events = 1 << 18;
    bool dead_time = true;
    std::string detector_depth = "mean";
    OnMovement bed_movement = OnMovement::refuse;
    OnGantryMovement gantry_movement = OnGantryMovement::refuse;
  };
  static constexpr auto params = describe(
      param<&Params::events>("events",
                             "Decode prompts or delayeds, and only count the others; or decode both, delayeds in "
                             "batches of their own, as event_corrections takes them, which gets the singles "
                             "histograms too"),
      param<&Params::batch_events>("batch_events", range(1, 1 << 28),
                                   "Events in a batch: small time blocks are joined, and large ones are cut"),
      param<&Params::dead_time>("dead_time",
                                "Correct for the live fractions that the stream states, if any: their mean weights the "
                                "scan time, and how pairs of modules differ goes into events and sensitivity"),
      param<&Params::detector_depth>(
          "detector_depth",
          "Where in a crystal lines of response end: mean, the mean depth at which photons of 511 keV interact, "
          "where the header says what crystals are made of; centre; or a depth in mm below the face"),
      param<&Params::bed_movement>("bed_movement",
                                   "What to do if the bed moves: refuse the stream; ignore the movement; or take the "
                                   "events' lines along with the bed, whose transforms take its points to the scanner "
                                   "(bed_to_scanner) or the scanner's to it, which the standard leaves open"),
      param<&Params::gantry_movement>(
          "gantry_movement",
          "The same if the gantry moves: refuse; ignore; or follow, the detectors then stand "
          "where the gantry's transform takes them, which must be one for all modules"));
  // The open batch of one pair of module types: detectors, ToF and its width.
  static MemoryNeed memory(const Params& p) {
    const std::size_t batch = std::size_t{16} * static_cast<std::size_t>(p.batch_events);
    return {.host_bytes = batch,
            .message_bytes = batch,
            .lower = "batch_events",
            .note =
                "as much again for each further pair of module types, and for delayeds beside prompts; besides, the "
                "events of the piece of the stream at hand"};
  }
  static constexpr bool own_thread = true;  // one piece of bytes may hold many batches
  static constexpr bool harmless = true;

  explicit PetsirdDecoder(const Params& p)
      : p_(p),
        depth_(petsird::parse_detector_depth(p.detector_depth)),
        decoder_(std::in_place, static_cast<petsird::Handler&>(*this)) {
    if (follows_bed() || follows_gantry()) pose_ = std::make_shared<const RigidPose>();
  }

  void process(const ByteBlock& block, Emit<EventBatch>& emit, Context& context) {
    emit_ = &emit;
    context_ = &context;
    shift_ms_ = block.time_shift_ms;
    naming_the_file([&] { decoder_->push(block.data); });
  }

  void flush(Emit<EventBatch>& emit, Context& context) {
    emit_ = &emit;
    context_ = &context;
    if (!context.stopping())  // which may cut a stream anywhere
      naming_the_file([&] { decoder_->finish(); });
    else if (!scanner_)
      context.log().warning("stopped before the stream's header had come: there are no events, and no image");
    take_open(petsird::EventKind::delayed);
    take_open(petsird::EventKind::prompt);
    on_decoded();
    book_rejected(context);
    report();
  }

 private:
  // What is wrong with the stream is told with the file that it comes from, if it comes from one.
  template <class Decode>
  void naming_the_file(const Decode& decode) const try {
    decode();
  } catch (const petsird::Error& error) {
    const std::string file = input_file();
    if (file.empty()) throw;
    throw petsird::Error(fmt::format("{}: {}", file, error.what()));
  }

  std::string input_file() const {
    if (!context_->control()) return {};
    const Pipeline& pipeline = context_->control()->pipeline();
    for (const PipelineEdge& edge : pipeline.edges) {
      const PipelineGadget& source = pipeline.gadgets[edge.from];
      if (pipeline.gadgets[edge.to].name != context_->name() || source.info->kind != GadgetKind::source) continue;
      if (const Value* path = source.resolved.find("path")) return path->text == "-" ? "standard input" : path->text;
    }
    return {};
  }

  // What the decoder itself turned away was received too.
  void book_rejected(Context& context) const {
    const auto& counts = decoder_->counts();
    context.books().received(counts.rejected + counts.ignored);
    if (counts.rejected > 0) context.books().rejected(counts.rejected, "detection or ToF bin out of range");
    if (counts.ignored > 0) context.books().rejected(counts.ignored, "of module types that the header does not have");
  }

  void on_warning(std::string_view text) override { context_->log().warning(text); }

  void on_header(petsird::Header&& header) override {
    scanner_ = petsird::to_scanner(header.scanner, depth_);
    note_detector_depth(petsird::detector_depth_note(header.scanner, depth_));
    quantity_ = std::make_shared<const Quantity>(petsird::quantity_of(header));
    live_time_.emplace(scanner_);
    singles_.emplace(header.scanner);
    context_->report("scanner_in_words", petsird::scanner_in_words(header.scanner));
    context_->report("time_of_flight", petsird::time_of_flight_in_words(header.scanner));
    edges_mm_ = std::move(header.scanner.tof_bin_edges_mm);
    for (auto& lists : lists_)
      lists.builders.resize(petsird::pair_index({static_cast<std::uint32_t>(scanner_->types.size()), 0}));
    context_->report("scanner", scanner_->name);
    context_->report("detectors", static_cast<std::int64_t>(scanner_->detectors->size()));
  }

  void note_detector_depth(const petsird::DetectorDepthNote& note) {
    context_->report("detector_depth", note.words);
    if (note.unknown && depth_.kind == petsird::DetectorDepth::Kind::mean)
      context_->log().warning(
          fmt::format("lines of response end in the {}. Photons interact nearer to the face, so what is off the axis "
                      "comes out about 1 % too far from it: give detector_depth in mm",
                      note.words));
  }

  void on_block_begin(petsird::BlockKind kind, petsird::TimeInterval interval) override {
    ++blocks_;
    if (kind == petsird::BlockKind::gantry_movement && !follows_gantry())
      note_movement(p_.gantry_movement == OnGantryMovement::ignore, interval,
                    {"gantry", "gantry_movement", "Let the decoder follow it (gantry_movement: follow). "});
    if (kind == petsird::BlockKind::bed_movement && !follows_bed())
      note_movement(p_.bed_movement == OnMovement::ignore, interval,
                    {"bed", "bed_movement",
                     "Say which way the bed's transforms go (bed_movement: bed_to_scanner or scanner_to_bed). "});
    if (kind != petsird::BlockKind::event) return;
    block_ = shifted(interval);
    for (auto& lists : lists_) lists.block_time_given = false;
  }

  petsird::TimeInterval shifted(petsird::TimeInterval interval) const {
    const auto shift = [&](std::uint32_t at_ms) {
      return static_cast<std::uint32_t>(
          std::min<std::int64_t>(at_ms + shift_ms_, std::numeric_limits<std::uint32_t>::max()));
    };
    return {shift(interval.start_ms), shift(interval.stop_ms)};
  }

  struct Moving {
    const char *what, *parameter, *remedy;
  };
  void note_movement(bool is_ignored, petsird::TimeInterval interval, const Moving& moving) {
    const std::string where =
        fmt::format("the {} moves at {} ms (time block {})", moving.what, interval.start_ms, blocks_);
    if (!is_ignored)
      throw std::runtime_error(
          fmt::format("{}, and movement is not corrected: the image would be wrong. {}Cut the recording there, or let "
                      "the decoder take all events as if nothing moved ({}: ignore)",
                      where, moving.remedy, moving.parameter));
    const std::int64_t before = ignored_[moving.parameter]++;
    if (before == 0) context_->log().warning(where + ", which is ignored");
    context_->report(moving.parameter, fmt::format("ignored; blocks of movement: {}", before + 1));
  }

  // A block's time goes to the first list of a kind that has events of it, in proportion to them, so that it is counted
  // once for prompts and once for delayeds. So does that of the blocks without events before it.
  void on_list_begin(petsird::EventKind kind, petsird::TypePair, std::uint64_t events) override {
    if (kind == petsird::EventKind::delayed && events > 0)
      note(Correction::randoms, CorrectionState::called_for, "the stream has delayed coincidences");
    Lists& lists = lists_of(kind);
    lists.taken = 0;
    lists.times = {.first_s = block_.start_ms * 1e-3};
    if (events == 0) return;
    if (lists.block_time_given) {
      lists.times.apart_s = seconds() / static_cast<double>(events);
      return;
    }
    lists.times.first_s -= lists.idle_s;
    lists.times.apart_s = (seconds() + lists.idle_s) / static_cast<double>(events);
    lists.times.each_stands_for_s = lists.times.apart_s;
    lists.idle_s = 0;
    lists.block_time_given = true;
  }

  void on_events(petsird::EventKind kind, petsird::TypePair types,
                 std::span<const petsird::CoincidenceEvent> events) override {
    while (!events.empty()) {
      const std::size_t taken = std::min(events.size(), room(kind, types));
      if (is_decoded(kind)) builder_of(kind, types).put(events.first(taken));
      on_put(kind, types, taken);
      events = events.subspan(taken);
    }
  }

  // At least 1: a full batch has left.
  std::size_t room(petsird::EventKind kind, petsird::TypePair types) override {
    if (!is_decoded(kind)) return std::numeric_limits<std::size_t>::max();
    const Lists& lists = lists_of(kind);
    BatchBuilder& builder = builder_of(kind, types);
    if (lists.taken == 0 && builder.count() > 0 && std::abs(lists.times.first_s - builder.end_s()) > longest_pause_s)
      take_batch(builder);
    return builder.room();
  }

  petsird::PutEvents writer(petsird::EventKind kind, petsird::TypePair types) override {
    if (is_decoded(kind)) return builder_of(kind, types).writer();
    return [](std::size_t, std::span<const petsird::CoincidenceEvent>) {};
  }

  void on_put(petsird::EventKind kind, petsird::TypePair types, std::size_t events) override {
    if (!is_decoded(kind)) return;
    context_->books().received(events);
    Lists& lists = lists_of(kind);
    BatchBuilder& builder = builder_of(kind, types);
    builder.take_in(events, lists.times.after(lists.taken));
    lists.taken += events;
    if (builder.is_full()) take_batch(builder);
  }

  void on_other_block(const petsird::OtherBlock& block) override {
    if (const auto* singles = std::get_if<petsird::SinglesHistogramBlock>(&block)) return take_singles(*singles);
    if (const auto* bed = std::get_if<petsird::BedMovementBlock>(&block)) return move_bed(*bed);
    if (const auto* gantry = std::get_if<petsird::GantryMovementBlock>(&block)) return move_gantry(*gantry);
    const auto* dead_time = std::get_if<petsird::DeadTimeBlock>(&block);
    if (!dead_time) return;
    if (p_.dead_time) live_time_->add(*dead_time, shift_ms_);
    note(Correction::dead_time, p_.dead_time ? CorrectionState::made : CorrectionState::called_for,
         "live fractions of the stream");
  }

  bool follows_bed() const {
    return p_.bed_movement == OnMovement::bed_to_scanner || p_.bed_movement == OnMovement::scanner_to_bed;
  }

  bool follows_gantry() const { return p_.gantry_movement == OnGantryMovement::follow; }

  RigidPose stated_pose(const petsird::Transform& transform, const char* whose) const try {
    std::array<double, 12> matrix{};
    std::ranges::copy(transform, matrix.begin());
    return pose_of_matrix(matrix);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("the {}'s transform in time block {}: {}", whose, blocks_, error.what()));
  }

  void move_bed(const petsird::BedMovementBlock& block) {
    if (!follows_bed()) return;
    const RigidPose stated = stated_pose(block.transform, "bed");
    bed_ = p_.bed_movement == OnMovement::bed_to_scanner ? stated.inverse() : stated;
    place("bed_movement");
  }

  void move_gantry(const petsird::GantryMovementBlock& block) {
    if (!follows_gantry()) return;
    for (const petsird::Transform& each : block.transforms)
      if (each != block.transforms.front())
        throw std::runtime_error(
            fmt::format("the gantry's transforms in time block {} take modules of different types apart, and only a "
                        "scanner that moves as a whole is followed: cut the recording there",
                        blocks_));
    if (block.transforms.empty())
      throw std::runtime_error(fmt::format("the gantry moves in time block {} without a transform", blocks_));
    gantry_ = stated_pose(block.transforms.front(), "gantry");
    place("gantry_movement");
  }

  // Events so far leave with the pose that they had.
  void place(const char* parameter) {
    const RigidPose pose = bed_.after(gantry_);
    if (pose == *pose_) return;
    take_open(petsird::EventKind::delayed);
    take_open(petsird::EventKind::prompt);
    pose_ = std::make_shared<const RigidPose>(pose);
    moved_ = moved(*scanner_->detectors, pose);
    context_->report(parameter, fmt::format("followed; movements: {}", ++followed_[parameter]));
  }

  // They leave as a batch without events, before the prompts of their time.
  void take_singles(const petsird::SinglesHistogramBlock& block) {
    if (p_.events != DecodedEvents::both) return;
    EventBatch& batch = leaving_.emplace_back();
    batch.scanner = scanner_;
    batch.detectors = scanner_->detectors;
    batch.quantity = quantity_;
    batch.singles = singles_->counts_of(block, shift_ms_);
  }

  // Batches from now on say so.
  void note(Correction correction, CorrectionState state, const char* how) {
    if ((*quantity_)[correction].state == state) return;
    auto changed = std::make_shared<Quantity>(*quantity_);
    (*changed)[correction] = {state, how};
    quantity_ = std::move(changed);
  }

  // The batch leaves when all its events are there. Delayeds leave before the prompts of their time: a correction by
  // those that have come then knows them.
  void take_batch(BatchBuilder& builder) {
    if (!builder.takes_delayeds()) take_open(petsird::EventKind::delayed);
    EventBatch& batch = leaving_.emplace_back();  // before what may throw: other cores write into the arrays
    batch = builder.take();
    batch.quantity = quantity_;
    set_live_time(batch);
    if (!batch.delayed) {
      batch.pose = pose_;
      if (moved_) batch.detectors = moved_;
      prompts_s_ += batch.duration_s;
      live_s_ += batch.duration_s * batch.exposure;
      if (prompts_s_ > 0) context_->report("scan_s", prompts_s_);
    }
  }

  // Batches come in the order of their time, but for delayeds beside prompts and pairs of types beside each other.
  void set_live_time(EventBatch& batch) {
    if (live_time_->empty()) return;
    batch.exposure = live_time_->mean(batch.start_s, batch.duration_s);
    batch.live = live_time_->pattern(batch.start_s, batch.duration_s);
    if (!batch.delayed) exposed_.push_back({batch.start_s, batch.duration_s, batch.exposure});
    live_time_->forget_patterns_before(earliest_open_s(batch.start_s) - 60);
  }

  double earliest_open_s(double at_s) const {
    for (const Lists& lists : lists_)
      for (const auto& builder : lists.builders)
        if (builder && builder->count() > 0) at_s = std::min(at_s, builder->start_s());
    return at_s;
  }

  // Blocks need not come in order, so this is known at the end. What came after the events of its time was too late for
  // those that had left.
  void check_live_time() const {
    double seconds = 0, wrong_s = 0;
    for (const Exposed& batch : exposed_) {
      if (const auto gap = live_time_->uncovered(batch.start_s, batch.start_s + batch.duration_s))
        throw std::runtime_error(
            fmt::format("the stream's dead-time blocks leave {:g} to {:g} s uncovered, and there are events of that "
                        "time: get a stream whose blocks cover the scan, or let the decoder leave them out "
                        "(dead_time: false)",
                        gap->first, gap->second));
      seconds += batch.duration_s;
      wrong_s += batch.duration_s * std::abs(live_time_->mean(batch.start_s, batch.duration_s) - batch.exposure);
    }
    constexpr double visible = 0.01;
    if (wrong_s > visible * seconds)
      context_->log().warning(fmt::format(
          "dead-time blocks came after the events of their time, which got the live fractions of the blocks "
          "before: {:.1f} % wrong on average",
          100 * wrong_s / seconds));
  }

  void take_open(petsird::EventKind kind) {
    for (auto& builder : lists_of(kind).builders)
      if (builder && builder->count() > 0) take_batch(*builder);
  }

  void on_decoded() override {
    for (EventBatch& batch : std::exchange(leaving_, {})) {
      trim(batch);
      (*emit_)(std::move(batch));
    }
  }

  void on_block_end(petsird::BlockKind kind) override {
    if (kind != petsird::BlockKind::event) return;
    for (auto& lists : lists_)
      if (!lists.block_time_given) lists.idle_s += seconds();
  }

  double seconds() const { return block_.stop_ms > block_.start_ms ? (block_.stop_ms - block_.start_ms) * 1e-3 : 0.0; }

  // A batch's time is one stretch, from its start on: where the stream leaves out more of the scan, a new one begins.
  static constexpr double longest_pause_s = 1;

  // The open batches of prompts, or of delayeds, by pair of module types, and how much scan time they get.
  struct Lists {
    std::vector<std::optional<BatchBuilder>> builders;
    bool block_time_given = false;
    double idle_s = 0;        // of blocks without events, to be given to the next
    EventTimes times;         // of the present list
    std::uint64_t taken = 0;  // of its events
  };

  Lists& lists_of(petsird::EventKind kind) { return lists_[kind == petsird::EventKind::delayed ? 1 : 0]; }

  bool is_decoded(petsird::EventKind kind) const {
    return p_.events == DecodedEvents::both ||
           (p_.events == DecodedEvents::delayeds) == (kind == petsird::EventKind::delayed);
  }

  BatchBuilder& builder_of(petsird::EventKind kind, petsird::TypePair types) {
    auto& builder = lists_of(kind).builders[petsird::pair_index(types)];
    if (!builder)
      builder.emplace(scanner_, types, edges_mm_[types.first][types.second], p_.batch_events,
                      kind == petsird::EventKind::delayed);
    return *builder;
  }

  void report() {
    report_live_time();
    const auto& counts = decoder_->counts();
    context_->report("prompts", static_cast<std::int64_t>(counts.prompts));
    context_->report("delayeds", static_cast<std::int64_t>(counts.delayeds));
    for (std::size_t k = 0; k < counts.blocks.size(); ++k)
      if (counts.blocks[k] > 0)
        context_->report(fmt::format("blocks_{}", petsird::block_kind_names[k]),
                         static_cast<std::int64_t>(counts.blocks[k]));
  }

  void report_live_time() {
    if (!p_.dead_time || decoder_->counts().blocks[static_cast<std::size_t>(petsird::BlockKind::dead_time)] == 0)
      return;
    check_live_time();
    if (prompts_s_ > 0) context_->report("live_fraction", live_s_ / prompts_s_);
    context_->report("live_fraction_spread", live_time_->spread());
    constexpr double visible = 0.01;
    if (live_time_->spread_in_modules() > visible)
      context_->log().warning(
          fmt::format("live fractions of crystals within a module differ by up to {:.1f} % (RMS), of which only the "
                      "module's mean is corrected for",
                      100 * live_time_->spread_in_modules()));
  }

  Params p_;
  petsird::DetectorDepth depth_;
  std::optional<petsird::Decoder> decoder_;
  std::shared_ptr<const Scanner> scanner_;
  std::shared_ptr<const Quantity> quantity_;
  std::optional<petsird::LiveTime> live_time_;
  std::optional<petsird::SinglesHistograms> singles_;
  struct Exposed {
    double start_s, duration_s, exposure;
  };
  std::vector<Exposed> exposed_;       // prompts that have left, where the stream states live fractions
  double prompts_s_ = 0, live_s_ = 0;  // scan time of the prompts so far, and the live part of it
  petsird::Table<petsird::BinEdges> edges_mm_;
  std::array<Lists, 2> lists_;
  std::vector<EventBatch> leaving_;
  RigidPose bed_, gantry_;                 // of the scanner to the bed, and of the detectors as the header has them
  std::shared_ptr<const RigidPose> pose_;  // of both; null where neither is followed
  std::shared_ptr<const DetectorTable> moved_;  // detectors there, once it has moved
  std::int64_t shift_ms_ = 0;                   // of the times of what is being decoded
  petsird::TimeInterval block_;
  std::uint64_t blocks_ = 0;                                // of all kinds so far
  std::map<std::string, std::int64_t> ignored_, followed_;  // movements, by parameter
  Emit<EventBatch>* emit_ = nullptr;
  Context* context_ = nullptr;
};

TOFSTREAM_GADGET(PetsirdDecoder, "petsird_decoder", "Decodes list mode in the standard's binary form, as it arrives");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
