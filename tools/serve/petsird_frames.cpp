// Time blocks to frames: see petsird_frames.hpp.
#include "tools/serve/petsird_frames.hpp"

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/time_block_cutter.hpp"
#include "gadgets/io/random_identity.hpp"
#include "gadgets/io/unpack.hpp"
#include "gadgets/io/wire/time_block_frame.hpp"

namespace tofstream::serve {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

}  // namespace

class PetsirdFrames::Reader {
 public:
  Reader(const std::filesystem::path& file, std::size_t frame_bytes)
      : input_(file, std::ios::binary),
        frame_bytes_(frame_bytes),
        cutter_({.on_header = [this](std::span<const std::byte> bytes) { take_header(bytes); },
                 .on_block = [this](const petsird::TimeBlockCutter::Block& block) { take(block); },
                 .on_warning = [](std::string_view) {}}) {  // the server's decoder says so too
    if (!input_) throw std::runtime_error(fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)));
  }

  std::optional<Bytes> next() {
    while (frames_.empty() && !is_over_) read();
    if (frames_.empty()) return {};
    auto [frame, scanned_ns] = std::move(frames_.front());
    frames_.pop_front();
    scanned_ns_ = scanned_ns;
    return std::move(frame);
  }
  std::uint64_t scanned_ns() const { return scanned_ns_; }

 private:
  void read() {
    Bytes chunk(chunk_bytes);
    input_.read(reinterpret_cast<char*>(chunk.data()), chunk_bytes);
    chunk.resize(static_cast<std::size_t>(input_.gcount()));
    if (input_.bad()) throw std::runtime_error("the recording cannot be read any further: is its disk broken?");
    const auto cut = [this](Bytes&& bytes) { cutter_.push(bytes); };
    if (!chunk.empty()) return unpacker_.push(std::move(chunk), cut);
    unpacker_.finish(cut);
    cutter_.finish();
    is_over_ = true;
    if (!frame_.empty()) take_frame();
    put({.kind = wire::FrameKind::end, .first_event = events_, .start_ns = frame_.end_ns()}, Bytes(wire::header_bytes));
  }

  void take_header(std::span<const std::byte> bytes) {
    Bytes frame(wire::header_bytes);
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    put({.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird}, std::move(frame));
  }

  void take(const petsird::TimeBlockCutter::Block& block) {
    frame_.add(block);
    if (frame_.bytes() >= frame_bytes_) take_frame();
  }

  void take_frame() {
    auto frame = frame_.take();
    frame.header.first_event = events_;
    events_ += frame.header.events;
    put(frame.header, std::move(frame.bytes));
  }

  void put(wire::FrameHeader header, Bytes frame) {
    header.stream = stream_;
    header.sequence = sequence_++;
    wire::seal_frame(header, frame);
    frames_.emplace_back(std::move(frame), frame_.scanned_ns());
  }

  std::ifstream input_;
  Unpacker unpacker_;
  const std::size_t frame_bytes_;
  petsird::TimeBlockCutter cutter_;
  wire::TimeBlockFrame frame_;
  const std::uint64_t stream_ = random_identity();
  std::uint64_t sequence_ = 0, events_ = 0, scanned_ns_ = 0;
  std::deque<std::pair<Bytes, std::uint64_t>> frames_;
  bool is_over_ = false;
};

PetsirdFrames::PetsirdFrames(const std::filesystem::path& file, std::size_t frame_bytes)
    : reader_(std::make_unique<Reader>(file, frame_bytes)) {}
PetsirdFrames::~PetsirdFrames() = default;

std::optional<Bytes> PetsirdFrames::next() {
  return reader_->next();
}
std::uint64_t PetsirdFrames::scanned_ns() const {
  return reader_->scanned_ns();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
