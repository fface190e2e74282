// Decodes a PETSIRD byte stream into batches of events: detection bins become detectors, ToF bins become mm.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/decode/batch_builder.hpp"
#include "gadgets/formats/petsird/decoder.hpp"
#include "gadgets/formats/petsird/to_scanner.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

namespace petsird {
constexpr auto enum_names(EventKind) {
  return names(EventKind::prompt, "prompts", EventKind::delayed, "delayeds");
}
}  // namespace petsird

namespace {

struct PetsirdDecoder : private petsird::Handler {
  struct Params {
    petsird::EventKind events = petsird::EventKind::prompt;
    int batch_events = 1 << 18;
  };
  static constexpr auto params =
      describe(param<&Params::events>("events", "Decode prompts or delayeds; the others are counted"),
               param<&Params::batch_events>("batch_events", range(1, 1 << 28),
                                            "Small time blocks are joined, large ones cut, to so many events"));
  // The open batch of one pair of module types: detectors, ToF and its width.
  static MemoryNeed memory(const Params& p) {
    const std::size_t batch = std::size_t{16} * static_cast<std::size_t>(p.batch_events);
    return {.host_bytes = batch,
            .message_bytes = batch,
            .lower = "batch_events",
            .note = "as much again for each further pair of module types"};
  }
  static constexpr bool own_thread = true;  // one piece of bytes may hold many batches

  explicit PetsirdDecoder(const Params& p) : p_(p), decoder_(std::in_place, static_cast<petsird::Handler&>(*this)) {}

  void process(const ByteBlock& block, Emit<EventBatch>& emit, Context& context) {
    emit_ = &emit;
    context_ = &context;
    decoder_->push(block.data);
  }

  void flush(Emit<EventBatch>& emit, Context& context) {
    emit_ = &emit;
    context_ = &context;
    decoder_->finish();
    for (auto& builder : builders_)
      if (builder && builder->count() > 0) emit(builder->take());
    book_rejected(context);
    report();
  }

 private:
  // What the decoder itself turned away was received too.
  void book_rejected(Context& context) const {
    const auto& counts = decoder_->counts();
    context.books().received(counts.rejected + counts.ignored);
    if (counts.rejected > 0) context.books().rejected(counts.rejected, "detection or ToF bin out of range");
    if (counts.ignored > 0) context.books().rejected(counts.ignored, "of module types that the header does not have");
  }

  void on_warning(std::string_view text) override { context_->log().warning(text); }

  void on_header(petsird::Header&& header) override {
    scanner_ = petsird::to_scanner(header.scanner);
    edges_mm_ = std::move(header.scanner.tof_bin_edges_mm);
    builders_.resize(petsird::pair_index({static_cast<std::uint32_t>(scanner_->types.size()), 0}));
    context_->report("scanner", scanner_->name);
    context_->report("detectors", static_cast<std::int64_t>(scanner_->detectors->size()));
  }

  void on_block_begin(petsird::BlockKind kind, petsird::TimeInterval interval) override {
    if (kind != petsird::BlockKind::event) return;
    block_ = interval;
    block_time_given_ = false;
  }

  // A block's time goes to the first list that has events of it, in proportion to them, so that it is counted once.
  void on_list_begin(petsird::EventKind kind, petsird::TypePair, std::uint64_t events) override {
    seconds_per_event_ = 0;
    if (kind != p_.events || events == 0 || block_time_given_) return;
    seconds_per_event_ = (seconds() + idle_s_) / static_cast<double>(events);
    idle_s_ = 0;
    block_time_given_ = true;
  }

  void on_events(petsird::EventKind kind, petsird::TypePair types,
                 std::span<const petsird::CoincidenceEvent> events) override {
    if (kind != p_.events) return;
    context_->books().received(events.size());
    BatchBuilder& builder = builder_of(types);
    while (!events.empty()) {
      const auto taken = builder.add(events, block_.start_ms * 1e-3, seconds_per_event_);
      events = events.subspan(taken);
      if (builder.is_full()) (*emit_)(builder.take());
    }
  }

  void on_block_end(petsird::BlockKind kind) override {
    if (kind == petsird::BlockKind::event && !block_time_given_) idle_s_ += seconds();
  }

  double seconds() const { return block_.stop_ms > block_.start_ms ? (block_.stop_ms - block_.start_ms) * 1e-3 : 0.0; }

  BatchBuilder& builder_of(petsird::TypePair types) {
    auto& builder = builders_[petsird::pair_index(types)];
    if (!builder) builder.emplace(scanner_, types, edges_mm_[types.first][types.second], p_.batch_events);
    return *builder;
  }

  void report() {
    const auto& counts = decoder_->counts();
    context_->report("prompts", static_cast<std::int64_t>(counts.prompts));
    context_->report("delayeds", static_cast<std::int64_t>(counts.delayeds));
    for (std::size_t k = 0; k < counts.blocks.size(); ++k)
      if (counts.blocks[k] > 0)
        context_->report(fmt::format("blocks_{}", petsird::block_kind_names[k]),
                         static_cast<std::int64_t>(counts.blocks[k]));
  }

  Params p_;
  std::optional<petsird::Decoder> decoder_;
  std::shared_ptr<const Scanner> scanner_;
  petsird::Table<petsird::BinEdges> edges_mm_;
  std::vector<std::optional<BatchBuilder>> builders_;
  petsird::TimeInterval block_;
  bool block_time_given_ = false;
  double idle_s_ = 0;  // of blocks without events, to be given to the next
  double seconds_per_event_ = 0;
  Emit<EventBatch>* emit_ = nullptr;
  Context* context_ = nullptr;
};

TOFSTREAM_GADGET(PetsirdDecoder, "petsird_decoder", "Decodes list mode in the standard's binary form, as it arrives");

}  // namespace
}  // namespace tofstream
