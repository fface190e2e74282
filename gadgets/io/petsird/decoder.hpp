// Reads a PETSIRD binary stream as it arrives: push bytes in chunks of any size, and a handler is
// called with the header, the events in pieces, and every other block. Never holds a block of
// events or the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gadgets/io/petsird/header.hpp"
#include "gadgets/io/petsird/schema.hpp"
#include "gadgets/io/petsird/stream_plan.hpp"
#include "gadgets/io/petsird/time_blocks.hpp"

namespace tofstream::petsird {

/// Who receives what a Decoder reads; override what you need. The order is that of the stream:
/// schema, header, then for each block begin, its contents, end. Exceptions pass through push().
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void on_schema(const Schema& /*schema*/) {}
  /// The header, checked (header_check.hpp).
  virtual void on_header(Header&& /*header*/) {}
  virtual void on_block_begin(BlockKind /*kind*/, TimeInterval /*interval*/) {}
  /// A list of the present block begins, which holds `events` events; those rejected will not come.
  virtual void on_list_begin(EventKind /*kind*/, TypePair /*types*/, std::uint64_t /*events*/) {}
  /// Some events of the present block, all within their types' bins; the span lives only until
  /// return. A list may come in any number of pieces, none of them empty.
  virtual void on_events(EventKind /*kind*/, TypePair /*types*/, std::span<const CoincidenceEvent> /*events*/) {}
  /// Where many of a list's events are there, all cores decode them for who has room for some: writer() gives what
  /// takes them, on several threads, each call with the number of its first event. on_put() says at once how many come,
  /// and on_decoded() that all those are there: before push() returns, or throws for another reason than one of them.
  /// Who has no room gets all by on_events().
  virtual std::size_t room(EventKind /*kind*/, TypePair /*types*/) { return 0; }
  virtual PutEvents writer(EventKind /*kind*/, TypePair /*types*/) { return {}; }
  virtual void on_put(EventKind /*kind*/, TypePair /*types*/, std::size_t /*events*/) {}
  virtual void on_decoded() {}
  /// A block that is not an event block, as a whole.
  virtual void on_other_block(const OtherBlock& /*block*/) {}
  virtual void on_block_end(BlockKind /*kind*/) {}
  /// Something odd but readable, in one line.
  virtual void on_warning(std::string_view /*text*/) {}
};

/// Events out of range are an error, except in a table with another number of rows than there are
/// types of modules, as some of the standard's own generators write: there they are rejected and
/// counted. The upper half of the square tables of v0.8-0.9 is delivered turned over: detectors
/// exchanged, ToF bin negated.
class Decoder {
 public:
  explicit Decoder(Handler& handler);
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder();

  /// Takes the next bytes of the stream. Throws Error, one line with the byte's offset, on bad
  /// data; the decoder is then of no further use.
  void push(std::span<const std::byte> bytes);
  /// Says that no more bytes come. Throws Error if that is in the middle of something; an end
  /// between two time blocks without the stream's end mark is a warning, since live sources may
  /// never send it.
  void finish();

  const StreamCounts& counts() const;
  /// Bytes taken.
  std::uint64_t offset() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
