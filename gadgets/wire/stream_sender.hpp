// One stream as its sender numbers it: the header, data without a gap, the end (share/doc/wire.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gadget/context.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "gadgets/wire/frame_sender.hpp"

namespace tofstream {

inline constexpr auto* send_endpoint_words =
    "The receiver's: tcp://127.0.0.1:PORT, ipc://PATH, or with keys tcp://HOST:PORT; of pub: its own, as tcp://*:PORT";
inline constexpr auto* send_pattern_words =
    "push: sends to one receiver, and waits for it; pub: sends to monitors, which come and go, delay nobody, and miss "
    "frames that they have no room for";
inline constexpr auto* send_high_water_words =
    "Frames that wait in ZeroMQ; then the pipeline waits, or with pub a monitor loses frames";
inline constexpr auto* linger_words =
    "How long to wait, at the end, for a receiver to take the remaining frames and for monitors to leave";
inline constexpr auto* repeat_header_words =
    "How often the header is sent again, for receivers that come late; 0: never. A monitor gets it when it connects";
/// Why events were not sent, in the books.
inline constexpr auto* not_sent_words = "not sent: the run was stopped while no receiver was there";
inline constexpr auto* send_speed_words =
    "Pace, as a multiple of the scanner's: 1 sends as the scanner does; 0: as fast as possible";

class StreamSender {
 public:
  struct Settings {
    FrameSender::Settings to;
    double repeat_header_s = 10;  // 0: never
    double speed = 0;             // scan time a second; 0: as fast as it goes
  };
  StreamSender(Settings settings, const Context& context);
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  /// The payload of the header's frame: of PETSIRD, its stream to the end of the header. Before all else.
  void set_header(std::vector<std::byte> payload, wire::Schema schema = wire::Schema::petsird) {
    header_payload_ = std::move(payload);
    header_schema_ = schema;
  }

  /// A frame of data, of kind, schema, events and times; its payload lies behind room for the header. Waits first until
  /// `scanned_s` of the scan are over, by `speed`. False: it was not sent, as the run is being ended, or was stopped
  /// while there was no receiver.
  bool send(wire::FrameHeader header, std::vector<std::byte> frame, double scanned_s);
  /// The end of the stream, at this scanner time; and the figures of run.json.
  void finish(std::uint64_t end_ns, Context& context);

 private:
  using Clock = std::chrono::steady_clock;

  void wait_until(double scanned_s);
  void send_header_when_due();
  bool seal_and_send(wire::FrameHeader header, std::vector<std::byte> frame);

  const Settings settings_;
  Context context_;  // for its stop tokens, and to say what it waits for
  std::vector<std::byte> header_payload_;
  wire::Schema header_schema_ = wire::Schema::petsird;
  const std::uint64_t stream_;
  std::uint64_t sequence_ = 1, events_ = 0;
  std::optional<Clock::time_point> began_, header_sent_;
  FrameSender sender_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
