// The decoder: the stream's first bytes by hand, the rest by the plan made from the schema, and the
// lists of coincidences by a loop of their own.
#include "gadgets/io/petsird/decoder.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/header_check.hpp"
#include "gadgets/io/petsird/input.hpp"
#include "gadgets/io/petsird/parallel_events.hpp"
#include "gadgets/io/petsird/plan_reader.hpp"
#include "gadgets/io/petsird/preface.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"

namespace tofstream::petsird {

class Decoder::Impl final : public PlanReader::EventReader {
 public:
  explicit Impl(Handler& handler) : handler_(handler) {}

  void push(std::span<const std::byte> bytes);
  void finish();
  const StreamCounts& counts() const { return state_.counts; }
  std::uint64_t offset() const { return input_.offset(); }

 private:
  static constexpr std::size_t batch_size = 1024;  // 12 KB: what is delivered at once stays in L1

  /// The list of coincidences being read.
  struct EventList {
    bool counted = false;
    std::uint64_t count = 0;
    std::uint64_t read = 0;
    TypePair types;
    EventLimits limits;
    bool ignored = false;                    ///< of types that the header does not have
    bool tolerant = false;                   ///< events out of range are rejected, not an error
    bool upper = false;                      ///< type1 < type2, of a square table
    std::array<std::uint32_t, 3> partial{};  ///< an event that is not all there yet
    std::size_t partial_size = 0;
  };

  /// Events of a list that other cores decode.
  struct BegunStretch {
    EventKind kind{};
    EventList list;         ///< before them
    std::uint64_t end = 0;  ///< of the bytes at hand, in the stream
    std::string place;
  };

  void push_some(std::span<const std::byte> bytes);
  void settle();
  [[noreturn]] static void throw_wrong_event(const BegunStretch& begun, const ParallelEvents::Failure& failure);
  [[noreturn]] static void throw_damaged(std::uint64_t offset, const std::string& place, const std::string& wrong);
  static std::string out_of_range(EventKind kind, const EventList& list, std::uint64_t number,
                                  const CoincidenceEvent& event);
  void read();
  void begin_body();
  void header_read();
  void block_begins(BlockKind kind, TimeInterval interval);
  bool read_events(const PlanReader& reader, const Plan& plan) override;
  bool begin_list(const PlanReader& reader, EventKind kind);
  bool read_many_events(EventKind kind);
  bool read_one_event(EventKind kind);
  bool skip_list();
  void deliver(EventKind kind);
  void turn_over();
  void warn_once(bool& warned, const std::string& text);
  std::string place() const;
  TypePair delivered_types() const {
    return list_.upper ? TypePair{list_.types.second, list_.types.first} : list_.types;
  }

  Handler& handler_;
  Input input_;
  Preface preface_;
  std::optional<Schema> schema_;
  Planner planner_;
  StreamState state_;
  StreamHooks hooks_;
  std::optional<PlanReader> reader_;
  EventLayout layout_;
  EventList list_;
  std::vector<CoincidenceEvent> batch_ = std::vector<CoincidenceEvent>(batch_size);
  std::size_t batched_ = 0;
  std::vector<BegunStretch> begun_;
  ParallelEvents parallel_;
  bool ended_ = false;
  bool failed_ = false;
  bool warned_of_rows_ = false;
  bool warned_of_ignored_ = false;
};

void Decoder::Impl::push(std::span<const std::byte> bytes) {
  if (failed_) throw Error("PETSIRD decoder was given bytes after an error; make a new one");
  failed_ = true;  // until this call has ended well
  do {
    constexpr std::size_t most_at_a_time = std::size_t{16} << 20;  // so that what is decoded leaves soon
    const auto some = bytes.first(std::min(bytes.size(), most_at_a_time));
    push_some(some);
    bytes = bytes.subspan(some.size());
  } while (!bytes.empty());
  failed_ = false;
}

void Decoder::Impl::push_some(std::span<const std::byte> bytes) {
  input_.feed(bytes);
  try {
    read();
  } catch (const DataError& error) {
    settle();  // an earlier event may be wrong already
    throw_damaged(input_.offset(), place(), error.what());
  } catch (...) {
    settle();
    throw;
  }
  settle();
}

/// Waits for the events that other cores decode.
void Decoder::Impl::settle() {
  const std::optional<ParallelEvents::Failure> failure = parallel_.wait();
  const std::vector<BegunStretch> begun = std::exchange(begun_, {});
  if (failure) throw_wrong_event(begun[failure->stretch], *failure);
  handler_.on_decoded();
}

void Decoder::Impl::throw_wrong_event(const BegunStretch& begun, const ParallelEvents::Failure& failure) {
  Input input;
  input.feed(failure.bytes);
  std::string wrong;
  try {
    std::array<std::uint64_t, 3> values{};
    for (std::uint64_t& value : values) input.varint(value, 32);
    wrong = out_of_range(begun.kind, begun.list, begun.list.read + failure.event + 1,
                         {static_cast<std::uint32_t>(values[0]), static_cast<std::uint32_t>(values[1]),
                          static_cast<std::uint32_t>(values[2])});
  } catch (const DataError& error) {
    wrong = error.what();
  }
  throw_damaged(begun.end - failure.bytes.size() + input.offset(), begun.place, wrong);
}

void Decoder::Impl::throw_damaged(std::uint64_t offset, const std::string& place, const std::string& wrong) {
  throw Error(
      fmt::format("PETSIRD stream, byte {}, in {}: {}; the stream is damaged, get a fresh copy", offset, place, wrong));
}

void Decoder::Impl::read() {
  if (!reader_) {
    if (!preface_.read(input_)) return;
    begin_body();
  }
  if (!ended_) ended_ = reader_->run();
  if (ended_ && !input_.empty()) {
    throw Error(
        fmt::format("PETSIRD stream, byte {}: {} bytes or more follow the end of the stream; cut "
                    "them off, or give each stream by itself",
                    input_.offset(), input_.rest().size()));
  }
}

void Decoder::Impl::begin_body() {
  schema_.emplace(preface_.schema_text());
  handler_.on_schema(*schema_);
  hooks_ = {.header = [this] { header_read(); },
            .interval = [this](BlockKind kind) { block_begins(kind, state_.interval); },
            .other_block =
                [this](BlockKind kind) {
                  const auto interval = [](const auto& block) { return block.interval; };
                  block_begins(kind, std::visit(interval, state_.other));
                  handler_.on_other_block(state_.other);
                  handler_.on_block_end(kind);
                },
            .end = [this](BlockKind kind) { handler_.on_block_end(kind); }};
  const Plan& plan = plan_stream(planner_, *schema_, state_, hooks_);
  if (schema_->version() == Version::unknown) {
    handler_.on_warning(
        fmt::format("PETSIRD schema {:.16} is not a known version; what is needed was found", schema_->sha256()));
  }
  reader_.emplace(input_, *this);
  reader_->start(plan, &state_);
}

void Decoder::Impl::header_read() {
  CheckedHeader checked = check_header(state_.header);
  layout_ = std::move(checked.layout);
  for (const std::string& warning : checked.warnings) handler_.on_warning(warning);
  handler_.on_header(std::move(state_.header));
  state_.header = {};
}

void Decoder::Impl::block_begins(BlockKind kind, TimeInterval interval) {
  ++state_.counts.blocks[static_cast<std::size_t>(kind)];
  handler_.on_block_begin(kind, interval);
}

/// Called again and again with the same list until it is read.
bool Decoder::Impl::read_events(const PlanReader& reader, const Plan& plan) {
  if (!list_.counted && !begin_list(reader, plan.event_kind)) return false;
  if (list_.ignored && !skip_list()) return false;
  while (list_.read < list_.count) {
    if (read_many_events(plan.event_kind)) continue;
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(list_.count - list_.read, batch_size - batched_));
    std::size_t decoded = 0;
    if (list_.partial_size == 0 && !input_.inside_varint()) {
      std::span<const std::byte> bytes = input_.rest();
      decoded = decode_events(bytes, std::span(batch_).subspan(batched_, most), list_.limits);
      input_.advance(input_.rest().size() - bytes.size());
      list_.read += decoded;
      batched_ += decoded;
    }
    if (decoded == 0 && !read_one_event(plan.event_kind)) {
      deliver(plan.event_kind);
      return false;
    }
    if (batch_size - batched_ < most_events_at_once) deliver(plan.event_kind);
  }
  deliver(plan.event_kind);
  list_ = {};
  return true;
}

/// Where many events of the list are there, begins to decode them on all cores; false where it is not worth it or goes
/// no further.
bool Decoder::Impl::read_many_events(EventKind kind) {
  constexpr std::size_t fewest = parallel_bytes / longest_event;
  const std::uint64_t left = list_.count - list_.read;
  if (input_.rest().size() < parallel_bytes || left < fewest || list_.upper || list_.tolerant ||
      list_.partial_size > 0 || input_.inside_varint())
    return false;
  deliver(kind);  // those before
  const TypePair types = delivered_types();
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(left, handler_.room(kind, types)));
  if (most < fewest) return false;
  std::span<const std::byte> bytes = input_.rest();
  begun_.push_back({kind, list_, input_.offset() + input_.rest().size(), place()});
  const std::size_t begun = parallel_.begin(bytes, most, list_.limits, handler_.writer(kind, types));
  if (begun == 0) {
    begun_.pop_back();
    return false;
  }
  input_.advance(input_.rest().size() - bytes.size());
  list_.read += begun;
  handler_.on_put(kind, types, begun);
  return true;
}

bool Decoder::Impl::begin_list(const PlanReader& reader, EventKind kind) {
  if (!input_.varint(list_.count, 64)) return false;
  const std::uint64_t row = reader.frame(2).index - 1;
  const std::uint64_t column = reader.frame(1).index - 1;
  const std::uint64_t rows = reader.frame(2).count;
  const std::size_t types = layout_.bins.size();
  list_.counted = true;
  list_.tolerant = rows != types;
  if (list_.tolerant) {
    warn_once(warned_of_rows_, fmt::format("event tables have {} rows for {} types of modules; events out of range are "
                                           "rejected and counted",
                                           rows, types));
  }
  list_.upper = column > row;
  list_.ignored = row >= types || column >= types || (list_.upper && schema_->has_triangular_tables());
  if (list_.ignored) {
    state_.counts.ignored += list_.count;
    if (list_.count > 0) {
      warn_once(warned_of_ignored_,
                fmt::format("events of the pair of types [{}][{}], which the standard does not allow, are "
                            "ignored and counted",
                            row, column));
    }
    return true;
  }
  list_.types = {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column)};
  list_.limits = layout_.limits(list_.types.first, list_.types.second);
  (kind == EventKind::prompt ? state_.counts.prompts : state_.counts.delayeds) += list_.count;
  handler_.on_list_begin(kind, delivered_types(), list_.count);
  return true;
}

bool Decoder::Impl::skip_list() {
  while (list_.read < list_.count) {
    const std::uint64_t events = std::min<std::uint64_t>(list_.count - list_.read, 1U << 20);
    const std::uint64_t varints = list_.partial_size + input_.skip_varints(3 * events - list_.partial_size);
    list_.read += varints / 3;
    list_.partial_size = varints % 3;
    if (input_.empty() && list_.read < list_.count) return false;
  }
  return true;
}

/// Byte by byte: an event at the end of a chunk, or one that is out of range.
bool Decoder::Impl::read_one_event(EventKind kind) {
  for (; list_.partial_size < 3; ++list_.partial_size) {
    std::uint64_t value = 0;
    if (!input_.varint(value, 32)) return false;
    list_.partial[list_.partial_size] = static_cast<std::uint32_t>(value);
  }
  const auto [bin1, bin2, tof] = list_.partial;
  const CoincidenceEvent event{bin1, bin2, tof};
  list_.partial_size = 0;
  ++list_.read;
  if (list_.limits.contain(event)) {
    batch_[batched_++] = event;
    return true;
  }
  if (!list_.tolerant) throw DataError(out_of_range(kind, list_, list_.read, event));
  ++state_.counts.rejected;
  return true;
}

/// What is wrong with an event of this number, from 1 on.
std::string Decoder::Impl::out_of_range(EventKind kind, const EventList& list, std::uint64_t number,
                                        const CoincidenceEvent& event) {
  return fmt::format(
      "{} {} of {}, which ends here, is ({}, {}) in ToF bin {}, but types {} and {} have "
      "{} and {} detection bins and {} ToF bins",
      kind == EventKind::prompt ? "prompt" : "delayed", number, list.count, event.bin1, event.bin2, event.tof,
      list.types.first, list.types.second, list.limits.bins1, list.limits.bins2, list.limits.tof_bins);
}

void Decoder::Impl::deliver(EventKind kind) {
  if (list_.upper) turn_over();
  if (batched_ == 0) return;
  handler_.on_events(kind, delivered_types(), std::span(batch_).first(batched_));
  batched_ = 0;
}

void Decoder::Impl::turn_over() {
  const auto& exchange = layout_.exchange[list_.types.first * layout_.bins.size() + list_.types.second];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < batched_; ++i) {
    const CoincidenceEvent& event = batch_[i];
    const std::uint32_t tof = exchange[event.tof];
    if (tof == no_tof_bin) {
      ++state_.counts.rejected;
    } else {
      batch_[kept++] = {event.bin2, event.bin1, tof};
    }
  }
  batched_ = kept;
}

void Decoder::Impl::warn_once(bool& warned, const std::string& text) {
  if (!std::exchange(warned, true)) handler_.on_warning(text);
}

std::string Decoder::Impl::place() const {
  if (!reader_) return preface_.place();
  const std::uint64_t blocks = state_.counts.time_blocks();
  const std::string path = reader_->path();
  return blocks == 0 ? path : fmt::format("{} (time block {})", path, blocks);
}

void Decoder::Impl::finish() {
  if (failed_ || ended_) return;
  if (reader_ && reader_->between_stream_items()) {
    handler_.on_warning(fmt::format("the stream stops at byte {} after {} time blocks without its end mark",
                                    input_.offset(), state_.counts.time_blocks()));
    return;
  }
  if (!reader_) preface_.check();
  if (input_.offset() == 0) {
    throw Error("PETSIRD stream is empty (0 bytes); give a file in PETSIRD's binary encoding");
  }
  throw Error(
      fmt::format("PETSIRD stream ends at byte {} in the middle of {}; it was cut short, get a "
                  "complete copy",
                  input_.offset(), place()));
}

Decoder::Decoder(Handler& handler) : impl_(std::make_unique<Impl>(handler)) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

void Decoder::push(std::span<const std::byte> bytes) {
  impl_->push(bytes);
}
void Decoder::finish() {
  impl_->finish();
}
const StreamCounts& Decoder::counts() const {
  return impl_->counts();
}
std::uint64_t Decoder::offset() const {
  return impl_->offset();
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
