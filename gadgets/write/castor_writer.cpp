// Writes events as list mode that CASToR reads, or bins as a histogram, with their scanner.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core/gadget.hpp"
#include "gadgets/io/castor/event_writer.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

struct CastorWriter {
  struct Params {
    std::filesystem::path file = "scan.cdh";
    double reference_s = 1;
    bool histogram = false;
  };
  struct In {
    std::shared_ptr<const EventBatch> events, normalised;
    static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::normalised>("normalised", optional));
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", in_run_folder,
                           "Name of the header in the output folder; beside it come the events (.cdf) and the scanner "
                           "(.hscan, .lut)"),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"),
                                  "The scan time that additive terms of the events are for, as the gadget that made "
                                  "them has it"),
      param<&Params::histogram>("histogram",
                                "Write a histogram of events too, as of bins with counts: a record a line, with the "
                                "counts of its ToF bins"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    constexpr std::size_t copies = 8;  // a batch's records; and a GPU's batches on the host
    return {.host_bytes = memory_product(copies, inputs[0]),
            .lower = "batch_events",
            .note = "of a histogram some 160 bytes and 8 for each ToF bin, for each line that can count"};
  }

  CastorWriter(const Params& p, Context& context) : writer_(context.output_file(p.file), p.reference_s, p.histogram) {
    const castor::WrittenFiles files(p.file);
    for (const auto& file : {files.data, files.scanner, files.table}) (void)context.output_file(file);
  }

  void process(In in, Context& context) {
    const EventBatch& batch = *in.events;
    require_still(batch, "castor_writer");
    if (batch.delayed)
      return context.books().rejected(batch.event_count(), "delayed coincidences, which CASToR's files do not hold");
    const auto here = [](const std::shared_ptr<const EventBatch>& one) {
      return !one || on_host(one->memory()) ? one : std::make_shared<const EventBatch>(host_batch(*one));
    };
    writer_.write(*here(in.events), here(in.normalised).get());
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    writer_.commit();
    context.report("events", static_cast<std::int64_t>(writer_.events()));
    if (writer_.is_histogram() && !writer_.lists_all_lines())
      context.log().warning(
          "the histogram has no lines without counts, since their factors are not known here: for CASToR's sensitivity "
          "write a normalisation file with all lines");
  }

 private:
  castor::EventWriter writer_;
};

TOFSTREAM_GADGET(CastorWriter, "castor_writer",
                 "Writes events as CASToR's list mode, or bins as its histogram, with the scanner");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
