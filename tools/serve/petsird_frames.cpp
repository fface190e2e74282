// Time blocks to frames: see petsird_frames.hpp.
#include "tools/serve/petsird_frames.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/formats/petsird/event_codec.hpp"
#include "gadgets/formats/petsird/time_block_cutter.hpp"
#include "gadgets/formats/wire/frame.hpp"

namespace tofstream::serve {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t ns_a_ms = 1'000'000;
constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

std::uint64_t random_stream() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

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
    if (!chunk.empty()) return cutter_.push(chunk);
    cutter_.finish();
    is_over_ = true;
    if (blocks_ > 0) seal_blocks();
    seal({.kind = wire::FrameKind::end, .first_event = events_}, {});
  }

  void take_header(std::span<const std::byte> bytes) {
    seal({.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird}, bytes);
  }

  void take(const petsird::TimeBlockCutter::Block& block) {
    if (blocks_++ == 0) frame_.start_ns = block.interval.start_ms * ns_a_ms;
    blocks_bytes_.insert(blocks_bytes_.end(), block.bytes.begin(), block.bytes.end());
    frame_.events += block.events;
    if (block.kind == petsird::BlockKind::event) end_ns_ = std::max(end_ns_, block.interval.stop_ms * ns_a_ms);
    if (blocks_bytes_.size() >= frame_bytes_) seal_blocks();
  }

  // One chunk of the stream: the number of its blocks, then they.
  void seal_blocks() {
    Bytes payload;
    petsird::append_varint(payload, std::exchange(blocks_, 0));
    payload.insert(payload.end(), blocks_bytes_.begin(), blocks_bytes_.end());
    blocks_bytes_.clear();
    frame_.schema = wire::Schema::petsird;
    frame_.first_event = events_;
    frame_.duration_ns = end_ns_ - std::min(end_ns_, frame_.start_ns);
    events_ += frame_.events;
    seal(std::exchange(frame_, {}), payload);
  }

  void seal(wire::FrameHeader header, std::span<const std::byte> payload) {
    header.stream = stream_;
    header.sequence = sequence_++;
    frames_.emplace_back(wire::encode_frame(header, payload), end_ns_);
  }

  std::ifstream input_;
  const std::size_t frame_bytes_;
  petsird::TimeBlockCutter cutter_;
  wire::FrameHeader frame_;  // as far as its blocks have come
  Bytes blocks_bytes_;
  std::uint64_t blocks_ = 0;
  const std::uint64_t stream_ = random_stream();
  std::uint64_t sequence_ = 0, events_ = 0, end_ns_ = 0, scanned_ns_ = 0;
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
