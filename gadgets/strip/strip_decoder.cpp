// Decodes a file of two strips' events into batches: see strip_events.hpp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/strip/io/strip_events.hpp"
#include "gadgets/strip/io/strip_scanner_yaml.hpp"
#include "gadgets/strip/strip_parameters.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream {
namespace {

struct StripDecoder {
  struct Params {
    std::string scanner = "jpet_strip";
    formats::StripFormat format = formats::StripFormat::text;
    formats::StripUnit unit = formats::StripUnit::mm;
    int batch_events = 1 << 18;
  };
  static constexpr auto params =
      describe(param<&Params::scanner>("scanner", reads_one_of("scanners"), strip_scanner_words),
               param<&Params::format>("format", strip_format_words),
               param<&Params::unit>("unit", "The unit of the file's numbers; the field's simulators write m"),
               param<&Params::batch_events>("batch_events", range(1, 1 << 28), "Events a batch"));
  static MemoryNeed memory(const Params& p) {
    const std::size_t batch = event_bytes * static_cast<std::size_t>(p.batch_events);
    return {.host_bytes = batch, .message_bytes = batch, .lower = "batch_events"};
  }
  static constexpr bool own_thread = true;  // one piece of bytes may hold many batches

  explicit StripDecoder(const Params& p)
      : p_(p),
        scanner_(formats::read_strip_scanner(find_shared("scanners", p.scanner))),
        strips_(strip_geometry(*scanner_)),
        reader_(p.format, p.unit) {}

  void process(const ByteBlock& block, Emit<EventBatch>& emit, Context& context) {
    take(reader_.push(block.data), emit, context);
  }

  void flush(Emit<EventBatch>& emit, Context& context) {
    if (!context.stopping()) take(reader_.finish(), emit, context);  // a stop may come within an event
    if (!open_.empty()) emit_batch(emit);
    context.report("scanner", scanner_->name);
    context.report("events", static_cast<std::int64_t>(events_));
    warn_of_unit(context);
  }

 private:
  void take(const std::vector<StripResponse<float>>& events, Emit<EventBatch>& emit, Context& context) {
    std::uint64_t rejected = 0;
    for (const StripResponse<float>& event : events) {
      farthest_mm_ = std::max({farthest_mm_, std::abs(event.z_up_mm), std::abs(event.z_down_mm)});
      if (!is_measurable(strips_, event)) {
        ++rejected;
        continue;
      }
      open_.push_back(event);
      if (open_.size() == static_cast<std::size_t>(p_.batch_events)) emit_batch(emit);
    }
    events_ += events.size();
    rejected_ += rejected;
    context.books().received(events.size());
    if (rejected > 0) context.books().rejected(rejected, "beyond what the strips can have measured");
  }

  void emit_batch(Emit<EventBatch>& emit) {
    EventBatch batch = make_strip_batch(scanner_, static_cast<std::int64_t>(open_.size()));
    for (std::size_t i = 0; i < open_.size(); ++i) set_response(batch, static_cast<std::int64_t>(i), open_[i]);
    open_.clear();
    batch.quantity = quantity_;
    emit(std::move(batch));
  }

  // The classic error: metres for millimetres, or the reverse.
  void warn_of_unit(Context& context) const {
    constexpr float suspicious_mm = 1;
    if (events_ > 0 && rejected_ == events_)
      context.log().warning(fmt::format("no event can come from these strips: z goes up to {:g} mm; is `unit` {}?",
                                        farthest_mm_, p_.unit == formats::StripUnit::m ? "mm" : "m"));
    else if (events_ > 0 && farthest_mm_ < suspicious_mm && p_.unit == formats::StripUnit::mm)
      context.log().warning(
          fmt::format("no event is farther than {:g} mm from the centre: is `unit` m?", farthest_mm_));
  }

  Params p_;
  std::shared_ptr<const Scanner> scanner_;
  StripGeometry strips_;
  formats::StripEventReader reader_;
  std::vector<StripResponse<float>> open_;  // the batch that is being filled
  const std::shared_ptr<const Quantity> quantity_ = std::make_shared<const Quantity>(
      Quantity{.scale = "the file says neither how long the scan was nor how efficient the strips are"});
  std::uint64_t events_ = 0, rejected_ = 0;
  float farthest_mm_ = 0;
};

TOFSTREAM_GADGET(StripDecoder, "strip_decoder", "Decodes a file of two strips' events: text or binary triples");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
