// Frames of a dynamic scan, each a reconstruction of its own: as soon as a frame's events are there, its subsets go out
// in all their iterations, while those of the next frame come in. Or all frames are one, for parametric images.
#include <algorithm>
#include <cmath>
#include <cstddef>
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
#include "gadgets/cut_in_time.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/frame_table.hpp"
#include "gadgets/subset/frames_together.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/recalled_frames.hpp"
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
  struct Params {
    std::vector<std::string> frames;
    int subsets = 8;
    SubsetCut cut = SubsetCut::interleaved;
    std::int64_t least_events = 10'000;
    int iterations = 1;
    bool together = false;
    FrameStart start = FrameStart::start_image;
    PassRule order = PassRule::sequential;
    std::int64_t seed = 1;
    BackendChoice backend = BackendChoice::automatic;
    double reference_s = 1;
    double device_reserve_gib = 4;
    double host_reserve_gib = 4;
    std::filesystem::path spill_folder;
    std::filesystem::path resume_from;
    ImageParams image;
  };
  static constexpr auto params = describe(
      param<&Params::frames>("frames", required, frames_words),
      param<&Params::subsets>("subsets", range(1, 100000), "Subsets of each frame"),
      param<&Params::cut>("cut",
                          "interleaved: every subset has each so many-th event of its frame, and stands for an equal "
                          "share of its time; time: consecutive events each, between which the tracer moves"),
      param<&Params::least_events>("least_events", at_least(0),
                                   "A frame by itself has fewer subsets where these would have fewer events each"),
      param<&Params::iterations>("iterations", range(1, 10000), "Passes over the subsets of each frame"),
      param<&Params::together>("together",
                               "All frames are one reconstruction, which begins when the last of them has ended: each "
                               "update is of a subset of every frame, as parametric_update takes them"),
      param<&Params::start>("start",
                            "start_image: each frame begins anew, so that frames do not depend on one another; "
                            "previous: with the image of the frame before it, which a few iterations do not forget"),
      param<&Params::order>("order", pass_rule_words), param<&Params::seed>("seed", at_least(0), pass_seed_words),
      param<&Params::backend>("backend", "Where the subsets will be projected"),
      param<&Params::reference_s>("reference_s", range(0, 1e9), unit("s"),
                                  "Length of scan time whose decays an image counts: 1 makes it the mean activity over "
                                  "the frame; 0: the frame's own length"),
      param<&Params::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"), device_reserve_words),
      param<&Params::host_reserve_gib>("host_reserve_gib", at_least(0), unit("GiB"), host_reserve_words),
      param<&Params::spill_folder>("spill_folder", spilling_is_operators, spill_folder_words),
      param<&Params::resume_from>("resume_from", resume_frames_words),
      param<&Params::image>("image", "The image, for which room is left on the GPU"));
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
        frames_(read_frames(p.frames)),
        recalled_(p.together ? std::filesystem::path() : p.resume_from),
        store_(store_settings(p)),
        together_(p.iterations, {p.order, p.seed}) {
    if (p.together && !p.resume_from.empty())
      throw std::invalid_argument(
          "resume_from: of frames together no checkpoint has the coefficients, so the run is made anew from the file "
          "or "
          "the journal: leave it out, and say --overwrite");
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
      context.made_from(of_no_event(context.message()));
      emit(announcement_of(announced_by(batch)));
    }
    if (batch.count > 0 && !(batch.duration_s > 0))
      throw std::runtime_error("the events state no scan time, so nobody knows which frame they belong to");
    warn_of_long(batch, context);
    ended_s_ = std::max(ended_s_, batch.start_s + batch.duration_s);
    for (EventBatch& piece : cut_at_frames(std::move(batch))) take(std::move(piece), emit, context);
  }

  void flush(Emit<EventSubset>& emit, Context& context) {
    if (at_ < frames_.size()) shorten(context);
    if (at_ < frames_.size() && !stream_->is_empty()) close(emit, context);
    together_.send(emit, context);
    report(context);
  }

 private:
  double end_s(std::size_t frame) const { return frames_[frame].start_s + frames_[frame].duration_s; }

  void open() {
    if (at_ == frames_.size()) return;
    stream_.emplace(WholeStreamSettings{p_.subsets, p_.cut, p_.together ? 0 : p_.least_events, p_.reference_s});
  }

  // Where frames begin and end within a batch.
  std::vector<EventBatch> cut_at_frames(EventBatch batch) const {
    std::vector<double> moments_s;
    for (std::size_t f = at_; f < frames_.size() && frames_[f].start_s < batch.start_s + batch.duration_s; ++f)
      moments_s.insert(moments_s.end(), {frames_[f].start_s, end_s(f)});
    return cut_in_time(std::move(batch), moments_s);
  }

  // A piece belongs to the frame in which its middle lies.
  void take(EventBatch piece, Emit<EventSubset>& emit, Context& context) {
    const double middle_s = piece.start_s + 0.5 * piece.duration_s;
    while (at_ < frames_.size() && middle_s >= end_s(at_)) close(emit, context);
    if (at_ == frames_.size() || middle_s < frames_[at_].start_s) {
      if (piece.count > 0) context.books().rejected(piece.event_count(), "in no frame");
      return;
    }
    stream_->take(std::move(piece), context.message(), store_);
  }

  // The frame's data are all there: they go out in all their iterations.
  void close(Emit<EventSubset>& emit, Context& context) {
    const ScanFrame frame = frames_[at_];
    WholeStream stream = std::move(*stream_);
    ++at_;
    open();
    if (p_.together) return keep(frame, std::move(stream));
    if (stream.is_empty()) {
      empty_.push_back(in_words(frame));
      context.log().warning(fmt::format("{} has no events, and no image", in_words(frame)));
      return report(context);
    }
    if (began_) {  // an update knows nothing of the frame before but, perhaps, its image
      context.made_from(of_no_event(context.message()));
      emit(restart_of<EventBatch>(++updates_, p_.start == FrameStart::previous));
    }
    began_ = true;
    if (recall(frame, stream, emit, context)) return report(context);
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

  // Sends for the image of a frame that a run before has completed. False where there is none.
  bool recall(const ScanFrame& frame, const WholeStream& stream, Emit<EventSubset>& emit, Context& context) {
    if (recalled_.is_over()) return false;
    const int subsets = stream.subsets();
    const auto step = recalled_.recall({.frame = frame,
                                        .frames = static_cast<int>(frames_.size()),
                                        .subsets = subsets,
                                        .iterations = p_.iterations,
                                        .updates_before = updates_,
                                        .events = stream.event_count()},
                                       context);
    if (!step) return false;
    context.made_from(stream.data());
    emit({.step = *step, .batches = {}});
    updates_ += std::int64_t{subsets} * p_.iterations;
    return true;
  }

  void keep(const ScanFrame& frame, WholeStream stream) {
    if (stream.is_empty())
      throw std::runtime_error(
          fmt::format("{} has no events: frames that are reconstructed together need some, so leave it out of `frames`",
                      in_words(frame)));
    together_.add(frame, std::move(stream), store_);
  }

  // The scan has ended within a frame, or before it.
  void shorten(Context& context) {
    ScanFrame& frame = frames_[at_];
    constexpr double worth_telling = 0.01;
    const double missing_s = end_s(at_) - ended_s_;
    if (!stream_->is_empty() && missing_s > worth_telling * frame.duration_s) {
      context.log().warning(
          fmt::format("the scan ends at {:g} s, within {}, whose image is of the {:g} s that there are", ended_s_,
                      in_words(frame), ended_s_ - frame.start_s));
      frame.duration_s = ended_s_ - frame.start_s;
    }
    const std::size_t begun = at_ + (stream_->is_empty() ? 0 : 1);
    if (begun == frames_.size()) return;
    context.log().warning(fmt::format("the scan ends at {:g} s, before {} of {} frames begin: shorten `frames`",
                                      ended_s_, frames_.size() - begun, frames_.size()));
    context.report("frames_not_scanned", static_cast<std::int64_t>(frames_.size() - begun));
    for (ScanFrame& each : frames_) each.frames = static_cast<int>(begun);
  }

  // Events of a batch are taken as spread evenly over its time.
  void warn_of_long(const EventBatch& batch, Context& context) {
    constexpr double longest = 0.2;  // of a frame
    if (warned_of_long_ || at_ == frames_.size() || batch.count < 2) return;
    if (batch.duration_s <= longest * frames_[at_].duration_s) return;
    warned_of_long_ = true;
    context.log().warning(fmt::format(
        "events come in batches of {:.2g} s, and {} has {:g} s: which of them lie within it is not known to "
        "better than that; give the decoder fewer batch_events",
        batch.duration_s, in_words(frames_[at_]), frames_[at_].duration_s));
  }

  void report(Context& context) const {
    context.report("frames", static_cast<std::int64_t>(frames_.size()));
    context.report("events_kept", store_.in_words());
    if (!empty_.empty()) context.report("frames_without_events", empty_);
  }

  Params p_;
  std::vector<ScanFrame> frames_;
  RecalledFrames recalled_;
  EventStore store_;
  FramesTogether together_;
  std::size_t at_ = 0;                 // the frame that is open
  std::optional<WholeStream> stream_;  // its events
  double ended_s_ = 0;                 // scan time of the last event so far
  std::int64_t updates_ = 0;
  bool is_announced_ = false, began_ = false, warned_of_long_ = false;
  std::vector<std::string> empty_;
  std::optional<bool> delayed_;
};

TOFSTREAM_GADGET(Framing, "framing", "Cuts a dynamic scan into frames, each of which is reconstructed by itself");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
