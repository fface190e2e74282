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

#include "gadgets/formats/petsird/decoder.hpp"
#include "gadgets/formats/petsird/writer.hpp"
#include "gadgets/formats/wire/frame.hpp"

namespace tofstream::serve {

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t ns_a_ms = 1'000'000;

std::uint64_t random_stream() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

}  // namespace

class PetsirdFrames::Reader : petsird::Handler {
 public:
  Reader(const std::filesystem::path& file, std::size_t frame_bytes)
      : input_(file, std::ios::binary), frame_bytes_(frame_bytes), decoder_(*this) {
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
    if (!chunk.empty()) return decoder_.push(chunk);
    decoder_.finish();
    is_over_ = true;
    if (!written_.empty()) seal_blocks();
    seal({.kind = wire::FrameKind::end, .first_event = events_}, {});
  }

  void on_header(petsird::Header&& header) override {
    const auto types = static_cast<std::uint32_t>(header.scanner.geometry.replicated_modules.size());
    pairs_ = petsird::pair_index({types, 0});
    writer_.emplace(
        [this](std::span<const std::byte> piece) { written_.insert(written_.end(), piece.begin(), piece.end()); },
        std::move(header));
    writer_->flush();
    seal({.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird}, std::exchange(written_, {}));
  }

  void on_block_begin(petsird::BlockKind, petsird::TimeInterval interval) override {
    interval_ = interval;
    if (!std::exchange(has_begun_, true)) begin_ns_ = interval.start_ms * ns_a_ms;
    for (auto* lists : {&prompts_, &delayeds_}) lists->assign(pairs_, {});
  }

  void on_events(petsird::EventKind kind, petsird::TypePair types,
                 std::span<const petsird::CoincidenceEvent> events) override {
    auto& list = (kind == petsird::EventKind::prompt ? prompts_ : delayeds_).at(petsird::pair_index(types));
    list.insert(list.end(), events.begin(), events.end());
    block_events_ += events.size();
  }

  void on_other_block(const petsird::OtherBlock& block) override { writer_->write_block(block); }

  void on_block_end(petsird::BlockKind kind) override {
    if (kind == petsird::BlockKind::event) {
      const bool any_delayed = std::ranges::any_of(delayeds_, [](const auto& list) { return !list.empty(); });
      writer_->write_events(
          interval_, {prompts_.begin(), prompts_.end()},
          any_delayed ? petsird::EventLists{delayeds_.begin(), delayeds_.end()} : petsird::EventLists{});
    }
    end_ns_ = std::max(end_ns_, interval_.stop_ms * ns_a_ms);
    writer_->flush();
    if (written_.size() >= frame_bytes_) seal_blocks();
  }

  void seal_blocks() {
    const wire::FrameHeader header{.schema = wire::Schema::petsird,
                                   .first_event = events_,
                                   .events = std::exchange(block_events_, 0),
                                   .start_ns = begin_ns_,
                                   .duration_ns = end_ns_ - std::min(begin_ns_, end_ns_)};
    events_ += header.events;
    begin_ns_ = end_ns_;
    seal(header, std::exchange(written_, {}));
  }

  void seal(wire::FrameHeader header, const Bytes& payload) {
    header.stream = stream_;
    header.sequence = sequence_++;
    frames_.emplace_back(wire::encode_frame(header, payload), end_ns_);
  }

  static constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

  std::ifstream input_;
  const std::size_t frame_bytes_;
  petsird::Decoder decoder_;
  std::optional<petsird::Writer> writer_;
  std::size_t pairs_ = 0;
  petsird::TimeInterval interval_;
  std::vector<std::vector<petsird::CoincidenceEvent>> prompts_, delayeds_;  // of the block at hand, by pair of types
  Bytes written_;
  const std::uint64_t stream_ = random_stream();
  std::uint64_t sequence_ = 0, events_ = 0, block_events_ = 0, begin_ns_ = 0, end_ns_ = 0, scanned_ns_ = 0;
  std::deque<std::pair<Bytes, std::uint64_t>> frames_;
  bool has_begun_ = false, is_over_ = false;
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
