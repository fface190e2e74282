// Writes two strips' events to a file that strip_decoder and the field's programs read. The file appears by rename.
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

#include "core/base/atomic_file.hpp"
#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/strip/strip_parameters.hpp"

namespace tofstream {
namespace {

struct StripWriter {
  struct Params {
    std::filesystem::path file = "events.txt";
    formats::StripFormat format = formats::StripFormat::text;
    formats::StripUnit unit = formats::StripUnit::mm;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", in_run_folder, "Name in the output folder"),
               param<&Params::format>("format", strip_format_words),
               param<&Params::unit>("unit", "The unit of the file's numbers; the field's simulators write m"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    constexpr std::size_t text_over_event = 2;  // at most 60 characters for 28 bytes
    return {.host_bytes = text_over_event * inputs[0], .lower = "batch_events"};
  }

  StripWriter(const Params& p, Context& context) : p_(p), file_(context.output_file(p.file)) {}

  void process(const EventBatch& batch, Context& context) {
    const EventView events = batch.view();
    if (events.detectors || !events.tof_mm) throw std::runtime_error("the events are not those of two strips");
    bytes_.clear();
    for (std::int64_t i = 0; i < events.count; ++i)
      formats::append_event(p_.format, p_.unit, strip_response<float>(events, i), bytes_);
    file_.write(std::as_bytes(std::span(bytes_)));
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    file_.commit();
    context.report("file", file_.path().string());
  }

 private:
  Params p_;
  AtomicFile file_;
  std::string bytes_;
};

TOFSTREAM_GADGET(StripWriter, "strip_writer", "Writes two strips' events as text or binary triples");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
