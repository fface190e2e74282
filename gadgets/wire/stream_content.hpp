// What the frames of data of a stream become: events for list mode, views for a camera. The schema of a stream's header
// says which; each kind is registered where it is written, by TOFSTREAM_STREAM, and nothing else names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/gadget/context.hpp"
#include "core/gadget/ports.hpp"
#include "core/plugin/kind_table.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/views.hpp"
#include "gadgets/wire/raw_frame.hpp"

namespace tofstream {

/// A stream comes out of one of the first three: as bytes where its data are PETSIRD, as events where they are records,
/// as views where they are a camera's. All messages come out of the fourth as they came, where it is connected.
struct LiveStream {
  std::shared_ptr<const ByteBlock> bytes;
  std::shared_ptr<const EventBatch> events;
  std::shared_ptr<const ViewBatch> views;
  std::shared_ptr<const RawFrame> frames;
  static constexpr auto outputs = ports(port<&LiveStream::bytes>("bytes"), port<&LiveStream::events>("events"),
                                        port<&LiveStream::views>("views"), port<&LiveStream::frames>("frames"));
};

/// Where a content's data go.
struct StreamOutlet {
  Emit<LiveStream>& emit;
  Context& context;
  /// Counts a frame that cannot be used, and says so once.
  std::function<void(const wire::BadFrame&)> note_bad;

  /// Throws std::runtime_error where nothing reads the output that the stream's data come out of.
  void require_reader(std::string_view output, std::string_view of_what) const;
  /// Books the events of a frame that does not count.
  void reject(const wire::FrameHeader& header, const char* reason) const {
    context.books().received(header.events);
    context.books().rejected(header.events, reason);
  }
};

/// Why frames whose schema is not of the stream's first data do not count.
inline constexpr const char* other_data = "in data of another kind than the stream's first";

/// The data of one scan. Frames come in the order in which they are to be taken, each once.
class StreamContent {
 public:
  StreamContent() = default;
  virtual ~StreamContent() = default;
  StreamContent(const StreamContent&) = delete;
  StreamContent& operator=(const StreamContent&) = delete;

  /// Takes a frame of data, to whose scanner times `shift_ns` is to be added, and books its events. Throws
  /// std::runtime_error where the stream's header is of no use to such data.
  virtual void take(const wire::Frame& frame, std::int64_t shift_ns) = 0;
  /// After the last frame; `has_ended`: the stream's end came.
  virtual void finish(bool has_ended) = 0;
};

/// One kind of stream.
struct StreamKind {
  wire::Schema header = wire::Schema::none;  // of the stream header's frame
  /// Why a stream with this header cannot be taken, in words that follow "it is left out: "; empty where it can.
  /// `first`: the header of the scan's first stream, with which it must agree; empty where it is the first itself.
  std::string (*refusal)(std::span<const std::byte> header, std::span<const std::byte> first) = nullptr;
  /// The content of the scan that this header begins. The outlet outlives it.
  std::unique_ptr<StreamContent> (*open)(std::span<const std::byte> header, const StreamOutlet& outlet) = nullptr;

  static constexpr KindWords called = {"kind of stream", "kinds of streams", "schema"};
  const wire::Schema& id() const { return header; }
  std::string problem() const { return refusal && open ? "" : "a kind of stream needs its refusal and open"; }
};

extern template KindTable<StreamKind>& table_of<StreamKind>();
extern template struct KindRegistration<StreamKind>;

}  // namespace tofstream

// Registers a kind of stream. Once, at namespace scope of a source file:
//
//     TOFSTREAM_STREAM(wire::Schema{7}, why_no_views, open_views);
#define TOFSTREAM_STREAM(header_schema, refusal_of, open_content) \
  TOFSTREAM_KIND(::tofstream::StreamKind,                         \
                 ::tofstream::StreamKind{.header = header_schema, .refusal = refusal_of, .open = open_content})
// SPDX-License-Identifier: Apache-2.0
