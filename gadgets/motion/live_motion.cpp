// Events of an object that moves as a whole, whose poses come live over ZeroMQ (share/doc/wire.md) while the scan runs:
// events wait until the pose of their time is there. With a journal, a replay places every event as the live run did.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/motion/pose_frames.hpp"
#include "gadgets/motion/event_placer.hpp"
#include "gadgets/motion/live_poses.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/frame_receiver.hpp"
#include "gadgets/wire/journal_option.hpp"

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;

struct LiveMotion {
  struct Params : PlacingParams {
    std::string endpoint = "tcp://127.0.0.1:5556";
    KeyParams keys;
    double longest_s = 0;
    double patience_s = 5;
    std::filesystem::path journal;
    bool resume = false;
    bool replay = false;
    std::filesystem::path file = "poses.csv";
  };
  static constexpr auto params =
      describe(param<&Params::endpoint>("endpoint",
                                        "Where the sender of poses connects: tcp://127.0.0.1:PORT, ipc://PATH, or with "
                                        "keys tcp://*:PORT"),
               param<&Params::keys>("keys", key_words),
               param<&Params::longest_s>("longest_s", range(1e-6, 1e9), unit("s"), required,
                                         "A pose holds for so long at most: a tracker that is silent for longer leaves "
                                         "a gap"),
               param<&Params::patience_s>("patience_s", range(0, 86400), unit("s"),
                                          "How long after an event came in the pose of its time is waited for; then "
                                          "its time is closed, and what comes later counts from there on"),
               param<&Params::journal>("journal", journal_is_operators,
                                       "Folder of a journal that keeps all poses as they came, and which times were "
                                       "closed; that of the events may be named"),
               param<&Params::resume>("resume", "A journal that holds poses is read first, then continued"),
               param<&Params::replay>("replay", "The poses are those of the journal; none are received"),
               param<&Params::file>("file", in_run_folder,
                                    "Name of the table of the poses as they counted, in the run's folder")) +
      PlacingParams::params;
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) { return placing_memory(inputs); }

  LiveMotion(const Params& p, Context& context)
      : p_(p),
        placer_(p, {.gadget = "live_motion", .source = source_of(p), .complete = "see to the tracker"}),
        table_(context.output_file(p.file)) {
    if ((p.resume || p.replay) && p.journal.empty())
      throw std::runtime_error("resume and replay need the journal that holds the poses: set journal");
    if (p.resume && p.replay)
      throw std::runtime_error("resume goes on receiving, and replay receives nothing: set one of them");
    std::shared_ptr<journal::Writer> journal;
    if (!p.journal.empty() && !p.replay) journal = open_journal({.folder = p.journal, .resume = p.resume}, context);
    poses_ = std::make_unique<LivePoses>(source_of(p), journal);
    if (p.resume && journal->entries_before() > 0) poses_->replay(p.journal, journal->entries_before());
    if (p.replay)
      replay();
    else
      receive(context);
  }

  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    if (!placer_.concerns(batch)) return emit(std::move(batch));
    placer_.check(batch);
    if (!wait_for_poses(batch.start_s + batch.duration_s, context)) return;
    bring_up_to_date(*batch.scanner);
    placer_.place(std::move(batch), *timeline_, emit, context);
  }

  void flush(Emit<EventBatch>& /*emit*/, Context& context) {
    receiving_ = {};
    poses_->throw_if_failed();
    report(context);
    const auto rows = poses_->all();
    if (rows.empty()) return;
    formats::write_pose_table(table_, poses_->form(), rows,
                              fmt::format("poses as they counted, maps: {}", poses_->direction()));
  }

 private:
  static std::string source_of(const Params& p) {
    return p.replay ? fmt::format("the journal {}", p.journal.string()) : p.endpoint;
  }

  void replay() {
    poses_->replay(p_.journal);
    if (poses_->figures().poses == 0)
      throw std::runtime_error(
          fmt::format("the journal {} holds no poses: name that of live_motion", p_.journal.string()));
    poses_->end();
  }

  void receive(const Context& context) {
    const auto warn = [log = context.log()](std::string_view text) { log.warning(text); };
    constexpr int largest_mib = 8;
    receiver_ = std::make_unique<FrameReceiver>(FrameReceiver::Settings{
        .endpoint = p_.endpoint, .keys = p_.keys, .largest_frame_mib = largest_mib, .warn = warn});
    receiving_ = std::jthread([this](const std::stop_token& stop) {
      try {
        receiver_->receive(stop, [&](const RawFrame& frame) { poses_->take(frame.data, frame.ingress_ns); });
      } catch (...) {
        poses_->fail(std::current_exception());
      }
    });
  }

  // False where the run is being ended.
  bool wait_for_poses(double end_s, Context& context) {
    if (poses_->is_settled(end_s)) return true;
    const auto came = context.message().last_ingress;
    const auto patience = std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(p_.patience_s));
    const auto deadline = (came == Clock::time_point{} ? Clock::now() : came) + patience;
    context.say_waiting(fmt::format("waiting for poses at {} of {:.1f} s", p_.endpoint, end_s));
    const bool settled = context.wait_outside([&] { return poses_->settle(end_s, deadline, context.cancel_token()); });
    context.say_waiting("");
    if (poses_->figures().closings > 0 && !std::exchange(warned_, true))
      context.log().warning(fmt::format(
          "no pose of {:g} s or later came at {} within {:g} s of the events: their time goes by the poses that are "
          "there; run.json counts such times (closed_times)",
          end_s, p_.endpoint, p_.patience_s));
    return settled;
  }

  void bring_up_to_date(const Scanner& scanner) {
    if (!timeline_)
      timeline_.emplace(PoseMaps::scanner_to_object, timeline_settings(scanner, p_.longest_s, p_.tolerance_mm));
    const bool is_inverse = poses_->direction() == wire::object_to_scanner;
    for (const formats::StatedPose& row : poses_->take_final()) {
      const RigidPose stated = formats::pose_of(poses_->form(), row.numbers);
      timeline_->append({row.time_s, is_inverse ? stated.inverse() : stated});
    }
  }

  void report(Context& context) const {
    const LivePoses::Figures figures = poses_->figures();
    const auto figure = [&](std::string_view key, std::uint64_t value) {
      context.report(key, static_cast<std::int64_t>(value));
    };
    figure("received_poses", figures.poses);
    figure("late_poses", figures.late_poses);
    figure("closed_times", figures.closings);
    figure("missing_frames", figures.missing_frames);
    figure("bad_frames", figures.bad_frames);
    figure("left_out_frames", figures.left_out_frames);
    if (receiver_) figure("refused_connections", receiver_->refused_connections());
    warn_of_loss(figures, context);
  }
  static void warn_of_loss(const LivePoses::Figures& figures, Context& context) {
    if (figures.bad_frames > 0)
      context.log().warning(
          fmt::format("{} bad frames of poses; the first: {}", figures.bad_frames, figures.first_bad));
    if (figures.missing_frames > 0)
      context.log().warning(fmt::format("{} frames of poses were sent and did not come", figures.missing_frames));
    if (figures.late_poses > 0)
      context.log().warning(
          fmt::format("{} poses came after their time was closed: raise patience_s, or see to the "
                      "tracker's delay",
                      figures.late_poses));
  }

  const Params p_;
  EventPlacer placer_;
  const std::filesystem::path table_;
  std::unique_ptr<LivePoses> poses_;
  std::optional<PoseTimeline> timeline_;  // once the scanner is known
  bool warned_ = false;
  std::unique_ptr<FrameReceiver> receiver_;
  std::jthread receiving_;  // last member: it uses the others
};

TOFSTREAM_GADGET(LiveMotion, "live_motion",
                 "Takes the lines of events along with an object that moves as a whole, whose poses come live");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
