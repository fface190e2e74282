// Receives a live stream over ZeroMQ, frame by frame (share/doc/wire.md), until its end or a stop: all of it (PULL,
// bound), or as a monitor that may come late and miss frames (SUB, connected). What receives never waits for the
// pipeline: frames go to a journal first (share/doc/journal.md), and wait in memory, or on disk, until they are
// decoded.
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/stream_ends.hpp"
#include "gadgets/wire/frame_queue.hpp"
#include "gadgets/wire/frame_receiver.hpp"
#include "gadgets/wire/journal_option.hpp"
#include "gadgets/wire/journal_replay.hpp"
#include "gadgets/wire/stream_receiver.hpp"

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What the terminal, top and the page are told of a stream that has not come yet, or stands still.
class Silence {
 public:
  Silence(std::string endpoint, Context& context) : endpoint_(std::move(endpoint)), context_(context) {
    say(fmt::format("waiting for a sender at {}", endpoint_));
    context.log().info(said_);
  }
  ~Silence() { context_.say_waiting(""); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

  void end(const RawFrame& frame) {
    last_ = Clock::now();
    if (said_.empty()) return;
    const auto header = wire::peek_header(frame.data);
    const bool is_data = header && header->kind != wire::FrameKind::stream_header;
    if (!is_data && has_begun_) return;
    if (is_data && !std::exchange(has_begun_, true)) context_.log().info(fmt::format("data come at {}", endpoint_));
    say(is_data ? "" : fmt::format("a sender is at {}; waiting for its data", endpoint_));
  }
  void look() {
    const auto silent = std::chrono::floor<std::chrono::seconds>(Clock::now() - last_);
    if (has_begun_ && silent >= patience) say(fmt::format("no data at {} for {} s", endpoint_, silent.count()));
  }

 private:
  static constexpr std::chrono::seconds patience{10};

  void say(std::string words) {
    said_ = std::move(words);
    context_.say_waiting(said_);
  }

  const std::string endpoint_;
  Context& context_;
  std::string said_;
  bool has_begun_ = false;  // data came
  Clock::time_point last_ = Clock::now();
};

struct ZmqSource {
  struct Params {
    std::string endpoint = "tcp://127.0.0.1:5555";
    ReceivePattern pattern = ReceivePattern::pull;
    KeyParams keys;
    int high_water_mark = 64;
    int largest_frame_mib = 64;
    double late_s = 1;
    OnNewStream on_new_stream = OnNewStream::go_on;
    std::filesystem::path journal;
    bool resume = false;
    int segment_mib = JournalOption{}.segment_mib;
    int sync_ms = JournalOption{}.sync_ms;
    int memory_mib = 256;
    std::filesystem::path spill_folder;
    double drain_s = 20;
  };
  static constexpr auto params = describe(
      param<&Params::endpoint>("endpoint",
                               "Where senders connect: tcp://127.0.0.1:PORT, ipc://PATH, or with keys tcp://*:PORT; of "
                               "sub: the sender's, as tcp://HOST:PORT"),
      param<&Params::pattern>("pattern",
                              "pull: senders connect, and no frame is lost; sub: this end is a monitor of a sender of "
                              "pattern pub: it delays nobody, may come late, and may miss frames"),
      param<&Params::keys>("keys", key_words),
      param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20),
                                      "Frames that wait in ZeroMQ for each sender over tcp; then the sender waits"),
      param<&Params::largest_frame_mib>("largest_frame_mib", range(1, 1024), unit("MiB"),
                                        "A sender of a larger frame is disconnected"),
      param<&Params::late_s>("late_s", range(0, 3600), unit("s"),
                             "How long to wait for missing frames after the end of the stream"),
      param<&Params::on_new_stream>("on_new_stream", on_new_stream_words),
      param<&Params::journal>("journal", journal_is_operators,
                              "Folder of a journal that keeps every frame as it came, before it is decoded"),
      param<&Params::resume>("resume", "A journal that holds frames is replayed first, then continued"),
      param<&Params::segment_mib>("segment_mib", range(1, 1 << 20), unit("MiB"), "Size of the journal's files"),
      param<&Params::sync_ms>("sync_ms", range(-1, 3600000), unit("ms"), sync_words),
      param<&Params::memory_mib>("memory_mib", range(1, 1 << 20), unit("MiB"),
                                 "Frames that wait for a slow pipeline in memory; the rest waits on disk"),
      param<&Params::spill_folder>("spill_folder", spilling_is_operators,
                                   "Where frames wait on disk if there is no journal: a folder on a large and fast "
                                   "disk; none: the system's folder for temporary files (TMPDIR)"),
      param<&Params::drain_s>(
          "drain_s", range(0, 86400), unit("s"),
          "How long after a stop frames that wait are still reconstructed; the others are booked as lost"));
  static constexpr bool harmless = true;
  static constexpr auto stream_end = takes_live_stream;
  static MemoryNeed memory(const Params& p) {
    return {
        .host_bytes =
            (std::size_t{2} * static_cast<std::size_t>(p.largest_frame_mib) + static_cast<std::size_t>(p.memory_mib))
            << 20,
        .lower = "memory_mib",
        .note = "and what waits in ZeroMQ: high_water_mark frames for each sender"};
  }

  ZmqSource(const Params& p, Context& context)
      : p_(p),
        incoming_({.pattern = p.pattern,
                   .endpoint = p.endpoint,
                   .keys = p.keys,
                   .high_water_mark = p.high_water_mark,
                   .largest_frame_mib = p.largest_frame_mib,
                   .warn = [log = context.log()](std::string_view text) { log.warning(text); }}) {
    if (p.resume && p.journal.empty())
      throw std::runtime_error("resume needs the journal that is to be continued: set journal");
    const WantedOutputs wanted = wanted_outputs(context);
    if (p.journal.empty() && !wanted.decoded && !wanted.frames)
      throw std::runtime_error("nobody takes the stream, and nothing keeps it: connect an output, or set journal");
    if (!p.journal.empty()) journal_ = open_journal({p.journal, p.resume, p.segment_mib, p.sync_ms}, context);
  }

  void run(Emit<LiveStream>& emit, std::stop_token stop, Context& context) {
    FrameQueue queue({.memory_bytes = static_cast<std::size_t>(p_.memory_mib) << 20,
                      .spill_folder = p_.spill_folder,
                      .warn = [&](std::string_view text) { context.log().warning(text); }});
    StreamReceiver receiver(emit, context, {is_monitor(), p_.on_new_stream});
    std::jthread receiving([&](const std::stop_token& end) { receive(queue, end); });
    {
      const std::stop_callback at_stop(stop, [&] { receiving.request_stop(); });
      if (journal_ && journal_->entries_before() > 0) replay(receiver, stop, context);
      if (!receiver.is_complete()) take_all(queue, receiver, stop, context);
    }
    receiving.request_stop();
    receiving.join();
    incoming_.leave();
    receiver.finish();
    report(queue, context);
  }

 private:
  bool is_monitor() const { return p_.pattern == ReceivePattern::sub; }

  // On a thread of its own, until the stop or a failure, which take() then throws.
  void receive(FrameQueue& queue, const std::stop_token& stop) {
    try {
      incoming_.receive(stop, [&](RawFrame frame) {
        std::optional<FilePlace> kept;
        if (journal_) kept = journal_->append_frame(frame.data, frame.ingress_ns).bytes;
        queue.put(std::move(frame), std::move(kept), stop);
      });
      queue.close();
    } catch (...) {
      queue.close(std::current_exception());
    }
  }

  // What an earlier run received, as it came; meanwhile what comes now waits.
  void replay(StreamReceiver& receiver, const std::stop_token& stop, Context& context) {
    JournalReplay frames(p_.journal, {}, journal_->entries_before());
    std::uint64_t count = 0;
    for (; !stop.stop_requested() && !receiver.is_complete(); ++count) {
      const auto frame = frames.next();
      if (!frame) break;
      receiver.take(*frame);
    }
    context.report("replayed_frames", static_cast<std::int64_t>(count));
    context.report("replayed_events", static_cast<std::int64_t>(receiver.events()));
    if (receiver.is_complete())
      context.log().warning(fmt::format(
          "the stream in the journal {} has ended, so nothing is received: name another folder for another stream",
          p_.journal.string()));
    report_damage(frames, context);
  }

  void take_all(FrameQueue& queue, StreamReceiver& receiver, const std::stop_token& stop, Context& context) {
    constexpr std::chrono::seconds between_looks{1};
    Silence silence(p_.endpoint, context);
    std::optional<Clock::time_point> late, drained;
    while (!receiver.is_complete()) {
      if (receiver.has_ended() && !late) late = after(p_.late_s);
      if (stop.stop_requested() && !drained) drained = after(p_.drain_s);
      if (drained && Clock::now() >= *drained) return leave_out(queue, receiver);
      const auto look = Clock::now() + between_looks;
      auto frame = context.wait_outside([&] { return queue.take(late ? std::min(*late, look) : look); });
      if (frame) {
        silence.end(*frame);
        receiver.take(std::move(*frame));
      } else if (queue.is_over() || (late && Clock::now() >= *late)) {
        return;
      } else if (!late) {
        silence.look();
      }
    }
  }

  static void leave_out(FrameQueue& queue, StreamReceiver& receiver) {
    while (const auto frame = queue.take(Clock::now()))
      receiver.leave_out(*frame, "received, but the run was stopped before their turn");
  }

  void report(const FrameQueue& queue, Context& context) {
    const auto figure = [&](std::string_view key, std::uint64_t value) {
      context.report(key, static_cast<std::int64_t>(value));
    };
    const auto figures = queue.figures();
    figure("spilled_frames", figures.spilled_frames);
    figure("spilled_bytes", figures.spilled_bytes);
    figure("most_waiting_frames", figures.most_frames);
    figure("most_waiting_bytes", figures.most_bytes);
    context.report("held_back", figures.held_back);
    figure("refused_connections", incoming_.refused_connections());
    if (!journal_) return;
    journal_->sync();
    figure("journal_bytes", journal_->written_bytes());
  }

  const Params p_;
  std::shared_ptr<journal::Writer> journal_;
  FrameReceiver incoming_;
};

TOFSTREAM_GADGET(ZmqSource, "zmq_source",
                 "Receives list mode live over ZeroMQ without loss, or watches it as a monitor");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
