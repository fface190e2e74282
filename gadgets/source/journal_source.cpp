// Replays a journal (share/doc/journal.md) as zmq_source received it: at the pace at which it came, a multiple of that,
// or as fast as it goes.
#include <filesystem>
#include <stop_token>

#include "core/gadget.hpp"
#include "gadgets/wire/journal_replay.hpp"
#include "gadgets/wire/replay_clock.hpp"
#include "gadgets/wire/stream_receiver.hpp"

namespace tofstream {
namespace {

struct JournalSource {
  struct Params {
    std::filesystem::path path;
    double speed = 0;
    std::int64_t from_event = 0;
    double from_s = 0;
    OnNewStream on_new_stream = OnNewStream::go_on;
  };
  static constexpr auto params = describe(
      param<&Params::path>("path", required, reads_file, "Folder of the journal"),
      param<&Params::speed>("speed", range(0, 1e6),
                            "Pace, as a multiple of that at which the frames came in; 0: as fast as possible"),
      param<&Params::from_event>("from_event", non_negative, "Begin with the frame that holds this event, from 0"),
      param<&Params::from_s>("from_s", non_negative, unit("s"), "Begin with the frame that holds this scan time"),
      param<&Params::on_new_stream>("on_new_stream", on_new_stream_words));
  static MemoryNeed memory(const Params&) { return {.note = "the frames of the journal that are on their way"}; }

  explicit JournalSource(const Params& p)
      : on_new_stream_(p.on_new_stream),
        frames_(p.path, {static_cast<std::uint64_t>(p.from_event), p.from_s}),
        clock_(p.speed) {}

  void run(Emit<LiveStream>& emit, std::stop_token stop, Context& context) {
    StreamReceiver receiver(emit, context, {.on_new_stream = on_new_stream_});
    while (!stop.stop_requested() && !receiver.is_complete()) {
      const auto frame = frames_.next();
      if (!frame) break;
      if (!frames_.is_ahead()) context.wait_outside([&] { clock_.wait_for(frame->ingress_ns, stop); });
      if (stop.stop_requested()) break;
      receiver.take(*frame);
      if (frames_.is_ahead()) receiver.begin_at(*frames_.begun_at());
    }
    receiver.finish();
    report_damage(frames_, context);
    if (frames_.notes() > 0) context.report("notes", static_cast<std::int64_t>(frames_.notes()));
  }

 private:
  const OnNewStream on_new_stream_;
  JournalReplay frames_;
  ReplayClock clock_;
};

TOFSTREAM_GADGET(JournalSource, "journal_source", "Replays a recorded stream from its journal");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
