// Sends the poses of a table live over ZeroMQ (share/doc/wire.md), as a tracker would beside the scanner: in step with
// the events of a simulated scan.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/io/motion/pose_frames.hpp"
#include "gadgets/io/motion/pose_table.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/stream_sender.hpp"

namespace tofstream {
namespace {

struct ZmqPoseSink {
  struct Params : PoseTableParams {
    std::string endpoint = "tcp://127.0.0.1:5556";
    KeyParams keys;
    double linger_s = 10;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", required, reads_file, pose_file_words),
               param<&Params::maps>("maps", required, pose_maps_words),
               param<&Params::endpoint>(
                   "endpoint", "The receiver's: tcp://127.0.0.1:PORT, ipc://PATH, or with keys tcp://HOST:PORT"),
               param<&Params::keys>("keys", key_words),
               param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"),
                                        "How long to wait, at the end, for a receiver to take the remaining poses"));
  static constexpr bool own_thread = true;

  ZmqPoseSink(const Params& p, Context& context)
      : table_(formats::read_stated_poses(p.file)),
        sender_({.to = {.endpoint = p.endpoint, .keys = p.keys, .linger_s = p.linger_s}}, context) {
    const std::string_view direction =
        p.maps == PoseMaps::object_to_scanner ? wire::object_to_scanner : wire::scanner_to_object;
    const auto bytes = std::as_bytes(std::span(direction));
    sender_.set_header({bytes.begin(), bytes.end()}, wire::pose_header);
  }

  // Those of the events' time, and the next one, from which a receiver knows how long the last of them held.
  void process(const EventBatch& batch, Context& context) { send_to(batch.start_s + batch.duration_s, context); }

  void flush(Context& context) {
    send_to(std::numeric_limits<double>::infinity(), context);
    context.report("poses", static_cast<std::int64_t>(next_));
  }

 private:
  void send_to(double end_s, Context& context) {
    constexpr std::size_t most = 1000;  // in a frame
    while (next_ < table_.rows.size() && last_s_ < end_s) {
      const auto rows = std::span(table_.rows).subspan(next_);
      const auto after = std::ranges::lower_bound(rows, end_s, {}, &formats::StatedPose::time_s);
      const std::size_t count = std::min({static_cast<std::size_t>(after - rows.begin()) + 1, rows.size(), most});
      wire::PoseFrame frame = wire::write_poses(table_.form, rows.first(count));
      last_s_ = rows[count - 1].time_s;
      next_ += count;
      sender_.send(frame.header, std::move(frame.bytes), 0);
      if (next_ == table_.rows.size()) sender_.finish(0, context);
    }
  }

  const formats::StatedPoses table_;
  StreamSender sender_;
  std::size_t next_ = 0;  // row
  double last_s_ = -std::numeric_limits<double>::infinity();
};

TOFSTREAM_GADGET(ZmqPoseSink, "zmq_pose_sink", "Sends a table's poses live over ZeroMQ, in step with a scan's events");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
