// One gzip member of independently deflated pieces: see gzip.hpp.
#include "gadgets/io/nifti/gzip.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <zlib.h>

namespace tofstream {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t piece_bytes = std::size_t{512} << 10;
// A stored deflate block holds at most 65535 bytes and takes 5 more (RFC 1951, 3.2.4).
constexpr std::size_t most_deflated_bytes = piece_bytes + 5 * (piece_bytes / 65535 + 1) + 1024;

/// Spans cut into pieces, in order; an input without bytes has none.
class Pieces {
 public:
  explicit Pieces(std::span<const Bytes> input) : input_(input) { skip_empty(); }
  bool done() const { return input_.empty(); }
  Bytes next() {
    const Bytes left = input_.front().subspan(at_), piece = left.first(std::min(piece_bytes, left.size()));
    at_ += piece.size();
    skip_empty();
    return piece;
  }

 private:
  void skip_empty() {
    while (!input_.empty() && at_ == input_.front().size()) {
      input_ = input_.subspan(1);
      at_ = 0;
    }
  }
  std::span<const Bytes> input_;
  std::size_t at_ = 0;
};

struct Piece {
  Bytes raw;
  bool last = false;
};

struct Deflated {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size = 0, raw_size = 0;
  std::uint32_t crc = 0;  // of the raw bytes
};

/// The piece as deflate blocks that refer to no byte before it and end at a byte; the last piece ends the stream.
Deflated deflated(const Piece& piece) {
  Deflated result;
  result.raw_size = piece.raw.size();
  result.bytes = std::make_unique_for_overwrite<std::byte[]>(most_deflated_bytes);
  auto* const raw = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(piece.raw.data()));  // it is only read
  result.crc = ::crc32_gzip_refl(0, raw, piece.raw.size());
  // Levels 1 and 2 hash the address of `stream` where they should hash the third byte of the piece (ISA-L 2.30 to 2.32,
  // igzip_icf_body_h1_gr_bt.asm at .write_first_byte): now and then other matches, and other bytes of the same file.
  // Level 3 reads beyond what it has written of its work space, which is therefore zeros.
  constexpr std::size_t work_bytes = ISAL_DEF_LVL3_DEFAULT;
  const auto work = std::make_unique<std::uint8_t[]>(work_bytes);
  const auto stream = std::make_unique<isal_zstream>();
  ::isal_deflate_stateless_init(stream.get());
  stream->level = 3;
  stream->level_buf = work.get();
  stream->level_buf_size = work_bytes;
  stream->gzip_flag = IGZIP_DEFLATE;
  stream->flush = FULL_FLUSH;
  stream->end_of_stream = piece.last ? 1 : 0;
  stream->next_in = raw;
  stream->avail_in = static_cast<std::uint32_t>(piece.raw.size());
  stream->next_out = reinterpret_cast<std::uint8_t*>(result.bytes.get());
  stream->avail_out = most_deflated_bytes;
  if (::isal_deflate_stateless(stream.get()) != COMP_OK || stream->avail_in > 0)
    throw std::logic_error("ISA-L does not compress a piece of bytes");
  result.size = stream->total_out;
  return result;
}

void put_little_endian(std::span<std::byte, 4> to, std::uint32_t value) {
  for (std::byte& byte : to) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

}  // namespace

void write_gzip(std::span<const Bytes> input, const std::function<void(Bytes)>& write) {
  // Deflate, no flags, no time, fastest compression, unknown system (RFC 1952, 2.3.1).
  constexpr std::uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255};
  write(std::as_bytes(std::span(header)));
  Pieces pieces(input);
  if (pieces.done()) {
    const Deflated nothing = deflated({.raw = {}, .last = true});
    write({nothing.bytes.get(), nothing.size});
  }
  std::uint32_t crc = 0, raw_size = 0;  // modulo 2^32, as gzip has it
  // An exception of `write` is kept until the pipeline has drained: oneTBB does not free the pieces of a pipeline that
  // an exception ends.
  std::exception_ptr failure;
  std::atomic<bool> has_failed = false;
  const auto cut = [&](tbb::flow_control& control) -> Piece {
    if (pieces.done() || has_failed) {
      control.stop();
      return {};
    }
    const Bytes raw = pieces.next();
    return {.raw = raw, .last = pieces.done()};
  };
  const auto append = [&](const std::shared_ptr<const Deflated>& piece) {
    if (has_failed) return;
    try {
      write({piece->bytes.get(), piece->size});
    } catch (...) {
      failure = std::current_exception();
      has_failed = true;
      return;
    }
    crc = static_cast<std::uint32_t>(::crc32_combine(crc, piece->crc, static_cast<z_off_t>(piece->raw_size)));
    raw_size += static_cast<std::uint32_t>(piece->raw_size);
  };
  const auto in_flight = 4 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  tbb::parallel_pipeline(
      in_flight,
      tbb::make_filter<void, Piece>(tbb::filter_mode::serial_in_order, cut) &
          tbb::make_filter<Piece, std::shared_ptr<const Deflated>>(
              tbb::filter_mode::parallel,
              [](const Piece& piece) { return std::make_shared<const Deflated>(deflated(piece)); }) &
          tbb::make_filter<std::shared_ptr<const Deflated>, void>(tbb::filter_mode::serial_in_order, append));
  if (failure) std::rethrow_exception(failure);
  std::byte trailer[8];
  put_little_endian(std::span(trailer).first<4>(), crc);
  put_little_endian(std::span(trailer).last<4>(), raw_size);
  write(trailer);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
