// Frames of a dynamic scan, each a reconstruction of its own: as soon as a frame's events are there, its subsets go out
// in all their iterations, while those of the next frame come in. Or all frames are one, for parametric images.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/frame_cut.hpp"
#include "gadgets/subset/frame_table.hpp"
#include "gadgets/subset/frames_in_time.hpp"
#include "gadgets/subset/frames_of_events.hpp"
#include "gadgets/subset/frames_together.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/recalled_frames.hpp"
#include "gadgets/subset/shared_frames.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/subset_cutter.hpp"
#include "gadgets/subset/whole_stream.hpp"

namespace tofstream {

/// What a frame's image begins with.
enum class FrameStart { start_image, previous };
constexpr auto enum_names(FrameStart) {
  return names(FrameStart::start_image, "start_image", FrameStart::previous, "previous");
}

namespace {

struct Framing {
  struct Params : SharedFramesParams {
    std::vector<std::string> frames;
    std::int64_t frames_of_events = 0;
    double from_s = 0;
    std::filesystem::path frame_table;
    int subsets = 8;
    bool together = false;
    FrameStart start = FrameStart::start_image;
    double reference_s = 1;
  };
  static constexpr auto params =
      describe(param<&Params::frames>("frames", frames_words),
               param<&Params::frames_of_events>(
                   "frames_of_events", at_least(0),
                   "Or: a frame ends when so many prompts have come, and the next one begins; the "
                   "last one has those that are left"),
               param<&Params::from_s>("from_s", range(0, 1e9), unit("s"),
                                      "Of frames_of_events: the scan time at which the first one begins"),
               param<&Params::frame_table>(
                   "frame_table", reads_file,
                   "Or: a CSV with start_s, from the scan's start, and duration_s: a row for each frame"),
               param<&Params::subsets>("subsets", range(1, 100000), "Subsets of each frame"),
               param<&Params::together>(
                   "together",
                   "All frames are one reconstruction, which begins when the last of them has ended: each "
                   "update is of a subset of every frame, as parametric_update takes them"),
               param<&Params::start>(
                   "start",
                   "start_image: each frame begins anew, so that frames do not depend on one another; "
                   "previous: with the image of the frame before it, which a few iterations do not forget"),
               param<&Params::reference_s>(
                   "reference_s", range(0, 1e9), unit("s"),
                   "Length of scan time whose decays an image counts: 1 makes it the mean activity over "
                   "the frame; 0: the frame's own length")) +
      SharedFramesParams::params;
  static MemoryNeed memory(const Params& p) {
    return {
        .gives_on_device = wants_cuda(p.backend),
        .note = p.together
                    ? "holds the events of all frames, 12 to 28 B each"
                    : "holds the events of two frames, 12 to 28 B each: one that is reconstructed, and one that comes"};
  }
  static constexpr bool own_thread = true;  // emits every iteration of a frame, held back by the edge
  static constexpr bool harmless = true;

  explicit Framing(const Params& p)
      : p_(p),
        frames_(cut_of(p)),
        recalled_(p.together ? std::filesystem::path() : recalled_here(p.resume_from)),
        store_(shared_store_settings(p)),
        together_(p.iterations, {p.order, p.seed}, resumed_together(p)),
        shared_(p.groups, p.resume_from, frames_->frames()) {
    if (const char* why = why_not_shared(p)) throw std::invalid_argument(fmt::format("groups: {}", why));
    if (p.together && p.start == FrameStart::previous)
      throw std::invalid_argument("start: previous is of frames that follow one another: leave it out with together");
    if (p.together && p.reference_s == 0)
      throw std::invalid_argument(
          "reference_s: 0 gives each frame a scale of its own, its length, and frames together need one: leave it at "
          "1");
    open();
  }

  void process(EventBatch batch, Emit<EventSubset>& emit, Context& context) {
    if (batch.count > 0) require_one_kind(batch, delayed_);
    if (batch.scanner && !std::exchange(is_announced_, true)) {
      announcement_ = announcement_of(announced_by(batch));
      if (!shared_.collects()) announce(emit, context);
    }
    if (batch.count > 0 && !(batch.duration_s > 0))
      throw std::runtime_error(
          "the events state no scan time, so nobody knows which frame they belong to, and when it was");
    for (EventBatch& piece : frames_->cut(std::move(batch), context)) take(std::move(piece), emit, context);
  }

  void flush(Emit<EventSubset>& emit, Context& context) {
    if (const auto last = frames_->finish(!stream_->is_empty(), context)) close(*last, emit, context);
    together_.send(emit, context);
    report(context);
  }

 private:
  static std::unique_ptr<FrameCut> cut_of(const Params& p) {
    const bool by_words = !p.frames.empty(), by_events = p.frames_of_events > 0, by_table = !p.frame_table.empty();
    if (by_words + by_events + by_table != 1)
      throw std::invalid_argument(
          "set exactly one of frames, frames_of_events and frame_table; empty what the pipeline has: frames: []");
    if (p.from_s > 0 && !by_events)
      throw std::invalid_argument("from_s is of frames_of_events: others say when they begin, so leave it out");
    if (by_events) return std::make_unique<FramesOfEvents>(p.frames_of_events, p.from_s);
    if (by_words) return std::make_unique<FramesInTime>(read_frames(p.frames), "`frames`");
    return std::make_unique<FramesInTime>(read_frame_table(p.frame_table), p.frame_table.string());
  }

  static CheckpointStep resumed_together(const Params& p) {
    if (!p.together || p.resume_from.empty()) return {};
    const CheckpointStep step = checkpoint_step(p.resume_from);
    if (step.update == 0 && has_frame_checkpoints(p.resume_from))
      throw std::runtime_error(fmt::format(
          "resume_from: in {} lie checkpoints of frames that were reconstructed one by one, and here they are "
          "together: leave it out",
          p.resume_from.string()));
    return step;
  }

  // Null where groups can share the frames, or need not.
  static const char* why_not_shared(const Params& p) {
    if (p.groups > 1 && p.together) return "frames that are reconstructed together are one image: leave groups out";
    if (p.groups > 1 && p.start == FrameStart::previous)
      return "with start: previous a frame waits for the one before it: say start: start_image, or leave groups out";
    return nullptr;
  }

  void open() {
    stream_.emplace(WholeStreamSettings{p_.subsets, p_.cut, p_.together ? 0 : p_.least_events, p_.reference_s});
  }

  void take(EventBatch piece, Emit<EventSubset>& emit, Context& context) {
    while (frames_->ends_before(piece)) close(frames_->next(), emit, context);
    if (!frames_->takes(piece)) {
      if (piece.count > 0) context.books().rejected(piece.event_count(), "in no frame");
      return;
    }
    if (!is_skipped_) is_skipped_ = shared_.skips(open_);
    if (*is_skipped_) return leave(piece.event_count(), context);
    stream_->take(std::move(piece), context.message(), store_);
  }

  static void leave(std::uint64_t events, Context& context) {
    context.books().rejected(events, "in a frame of another group");
  }

  // The frame's data are all there: they go out in all their iterations.
  void close(const ScanFrame& frame, Emit<EventSubset>& emit, Context& context) {
    WholeStream stream = std::move(*stream_);
    open();
    ++open_;
    if (std::exchange(is_skipped_, std::nullopt).value_or(false)) return;
    if (p_.together) return keep(frame, std::move(stream));
    if (stream.is_empty()) {
      empty_.push_back(in_words(frame));
      context.log().warning(fmt::format("{} has no events, and no image", in_words(frame)));
      return report(context);
    }
    const bool is_here = shared_.takes(frame.number);
    if (!is_here && !shared_.collects()) return leave(stream.event_count(), context);
    const bool is_first = !std::exchange(began_, true);
    if (!is_first) ++updates_;
    // Images that others make need no projector, which would prepare itself for a restart.
    if (!is_here && recall(frame, stream, is_here, emit, context)) return report(context);
    announce(emit, context);
    if (!is_first) restart(emit, context);
    if (is_here && recall(frame, stream, is_here, emit, context)) return report(context);
    OfflineUpdates<EventBatch> updates({.iterations = p_.iterations,
                                        .holds_last = true,
                                        .order = {p_.order, p_.seed},
                                        .frame = frame,
                                        .updates_before = updates_},
                                       [&stream] { return stream.quantity(); });
    stream.cut(updates, store_, emit, context);
    updates.finish(emit, context);
    updates_ = updates.updates();
    report(context);
  }

  // Once, unless it was done.
  void announce(Emit<EventSubset>& emit, Context& context) {
    if (!announcement_) return;
    context.made_from(of_no_event(context.message()));
    emit(*std::exchange(announcement_, std::nullopt));
  }

  // An update knows nothing of the frame before but, perhaps, its image.
  void restart(Emit<EventSubset>& emit, Context& context) const {
    context.made_from(of_no_event(context.message()));
    emit(restart_of<EventBatch>(updates_, p_.start == FrameStart::previous));
  }

  // Sends for the image of a frame that a run before has completed, or another group. False where there is none.
  bool recall(const ScanFrame& frame, const WholeStream& stream, bool is_here, Emit<EventSubset>& emit,
              Context& context) {
    if (recalled_.is_over() && is_here) return false;
    const int subsets = stream.subsets();
    const FrameToCome to_come{.frame = frame,
                              .frames = frame.frames > 0 ? frames_->frames() : 0,
                              .subsets = subsets,
                              .iterations = p_.iterations,
                              .updates_before = updates_,
                              .events = stream.event_count()};
    auto step = recalled_.recall(to_come, context);
    if (!step && !is_here) step = shared_.image(to_come, context);
    if (!step) return false;
    context.made_from(stream.data());
    emit({.step = *step, .batches = {}});
    updates_ += std::int64_t{subsets} * p_.iterations;
    return true;
  }

  void keep(const ScanFrame& frame, WholeStream stream) {
    if (stream.is_empty())
      throw std::runtime_error(fmt::format(
          "{} has no events: frames that are reconstructed together need some, so leave it out", in_words(frame)));
    together_.add(frame, std::move(stream), store_);
  }

  void report(Context& context) {
    context.report("frames", std::int64_t{frames_->frames()});
    context.report("events_kept", store_.in_words());
    if (!empty_.empty()) context.report("frames_without_events", empty_);
    shared_.report(context);
  }

  Params p_;
  std::unique_ptr<FrameCut> frames_;
  RecalledFrames recalled_;
  EventStore store_;
  FramesTogether together_;
  SharedFrames shared_;
  int open_ = 1;                       // the number of the frame that is open
  std::optional<bool> is_skipped_;     // whether another group has it; nothing before its first event
  std::optional<WholeStream> stream_;  // events of the frame that is open
  std::int64_t updates_ = 0;
  bool is_announced_ = false, began_ = false;
  std::optional<EventSubset> announcement_;  // that was not sent yet
  std::vector<std::string> empty_;
  std::optional<bool> delayed_;
};

TOFSTREAM_GADGET(Framing, "framing", "Cuts a dynamic scan into frames, each of which is reconstructed by itself");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
