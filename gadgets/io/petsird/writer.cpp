// The writer: values by the schema's types, lists of coincidences by hand.
#include "gadgets/io/petsird/writer.hpp"

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/header_check.hpp"
#include "gadgets/io/petsird/preface.hpp"
#include "gadgets/io/petsird/standard_schema.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "gadgets/io/petsird/value_writer.hpp"

namespace tofstream::petsird {

class Writer::Impl {
 public:
  Impl(ByteSink sink, Header header, Version version);

  void write_events(TimeInterval interval, const EventLists& prompts, const EventLists& delayeds);
  void write_block(const OtherBlock& block);
  void flush();
  void finish();

 private:
  static constexpr std::size_t buffer_size = 1 << 16;

  void drain() {
    if (bytes_.size() >= buffer_size) flush();
  }
  void begin_block(std::size_t kind);
  void write_table(const EventLists& lists, bool stored, const char* what);
  void write_list(std::span<const CoincidenceEvent> events, TypePair types);
  const Type& block_type(std::size_t kind) const { return *blocks_->parts[kind].type; }

  ByteSink sink_;
  std::vector<std::byte> bytes_;
  ValueWriter values_;
  std::string schema_text_;
  Schema schema_;
  const Type* blocks_;  ///< the union of time blocks
  EventLayout layout_;
  std::vector<std::vector<std::uint32_t>> turned_tof_;  ///< [type]; of pairs of equal types
  bool prompts_stored_;
  bool delayeds_stored_;
  bool finished_ = false;
};

Writer::Impl::Impl(ByteSink sink, Header header, Version version)
    : sink_(std::move(sink)),
      values_(
          bytes_, [](void* self, std::vector<std::byte>&) { static_cast<Impl*>(self)->drain(); }, this),
      schema_text_(standard_schema_text(version)),
      schema_(schema_text_),
      blocks_(&schema_.steps().at(1).type->item()),
      layout_(check_header(header).layout),
      prompts_stored_(header.scanner.prompt_event_policy != CoincidencePolicy::none),
      delayeds_stored_(header.scanner.delayed_event_policy != CoincidencePolicy::none) {
  for (std::size_t type = 0; type < layout_.bins.size(); ++type) {
    const BinEdges& edges = header.scanner.tof_bin_edges_mm[type][type];
    turned_tof_.push_back(exchanged_tof_bins(edges, edges));
  }
  for (const unsigned char byte : stream_magic) bytes_.push_back(static_cast<std::byte>(byte));
  append_varint(bytes_, schema_text_.size());
  for (const char c : schema_text_) bytes_.push_back(static_cast<std::byte>(c));
  values_.write(*schema_.steps().front().type, header);
  drain();
}

void Writer::Impl::begin_block(std::size_t kind) {
  if (finished_) throw Error("PETSIRD writer was given a block after the stream's end; begin a new stream");
  append_varint(bytes_, 1);  // one item in this part of the stream
  append_varint(bytes_, kind);
}

void Writer::Impl::write_events(TimeInterval interval, const EventLists& prompts, const EventLists& delayeds) {
  constexpr std::size_t event_block = 0;
  begin_block(event_block);
  values_.write(*block_type(event_block).parts[0].type, interval);
  append_varint(bytes_, 0);  // no singles
  write_table(prompts, prompts_stored_, "prompt");
  write_table(delayeds, delayeds_stored_, "delayed");
  append_varint(bytes_, 0);  // no triples
  append_varint(bytes_, 0);  // no quadruples
  drain();
}

void Writer::Impl::write_table(const EventLists& lists, bool stored, const char* what) {
  const auto types = static_cast<std::uint32_t>(layout_.bins.size());
  if (lists.size() > pair_index({types, 0})) {
    throw Error(
        fmt::format("PETSIRD writer was given {} lists of {}s for {} types of modules; give one for "
                    "each pair with type2 <= type1",
                    lists.size(), what, types));
  }
  if (!stored) {
    for (const auto& list : lists) {
      if (!list.empty()) {
        throw Error(
            fmt::format("PETSIRD writer was given {}s, but the header's {}EventPolicy is 'none'; set "
                        "the policy",
                        what, what));
      }
    }
    append_varint(bytes_, 0);
    return;
  }
  append_varint(bytes_, types);
  for (std::uint32_t type1 = 0; type1 < types; ++type1) {
    append_varint(bytes_, type1 + 1);
    for (std::uint32_t type2 = 0; type2 <= type1; ++type2) {
      const std::size_t index = pair_index({type1, type2});
      write_list(index < lists.size() ? lists[index] : std::span<const CoincidenceEvent>(), {type1, type2});
    }
  }
}

void Writer::Impl::write_list(std::span<const CoincidenceEvent> events, TypePair types) {
  const EventLimits limits = layout_.limits(types.first, types.second);
  std::array<std::byte, longest_event> encoded{};
  append_varint(bytes_, events.size());
  for (CoincidenceEvent event : events) {
    if (!limits.contain(event)) {
      throw Error(fmt::format(
          "PETSIRD writer was given bins ({}, {}) in ToF bin {} for types {} and {}, which "
          "have {} and {} detection bins and {} ToF bins",
          event.bin1, event.bin2, event.tof, types.first, types.second, limits.bins1, limits.bins2, limits.tof_bins));
    }
    if (types.first == types.second && event.bin1 < event.bin2) {
      event = {event.bin2, event.bin1, turned_tof_[types.first][event.tof]};
      if (event.tof == no_tof_bin) {
        throw Error(
            fmt::format("PETSIRD writer cannot turn over an event of type {}: no ToF bin covers the "
                        "negated value; make tofBinEdges symmetric",
                        types.first));
      }
    }
    const std::size_t size = encode_event(event, encoded);
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(size));
    drain();
  }
}

void Writer::Impl::write_block(const OtherBlock& block) {
  const std::size_t kind = block.index() + 1;
  begin_block(kind);
  std::visit([&](const auto& alternative) { values_.write(block_type(kind), alternative); }, block);
  drain();
}

void Writer::Impl::flush() {
  if (!bytes_.empty()) sink_(bytes_);
  bytes_.clear();
}

void Writer::Impl::finish() {
  if (finished_) return;
  append_varint(bytes_, 0);
  flush();
  finished_ = true;
}

Writer::Writer(ByteSink sink, Header header, Version version)
    : impl_(std::make_unique<Impl>(std::move(sink), std::move(header), version)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

void Writer::write_events(TimeInterval interval, const EventLists& prompts, const EventLists& delayeds) {
  impl_->write_events(interval, prompts, delayeds);
}
void Writer::write_block(const OtherBlock& block) {
  impl_->write_block(block);
}
void Writer::flush() {
  impl_->flush();
}
void Writer::finish() {
  impl_->finish();
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
