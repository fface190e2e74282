// Writes events as list mode that CASToR reads, with their scanner.
#include <cstddef>
#include <filesystem>
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
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", in_run_folder,
                           "Name of the header in the output folder; beside it come the events (.cdf) and the scanner "
                           "(.hscan, .lut)"),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"),
                                  "The scan time that additive terms of the events are for, as the gadget that made "
                                  "them has it"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    constexpr std::size_t copies = 2;  // a batch's records, at most 24 bytes an event; and a GPU's batch on the host
    return {.host_bytes = copies * inputs[0], .lower = "batch_events"};
  }

  CastorWriter(const Params& p, Context& context) : writer_(context.output_file(p.file), p.reference_s) {
    const castor::WrittenFiles files(p.file);
    for (const auto& file : {files.data, files.scanner, files.table}) (void)context.output_file(file);
  }

  void process(const EventBatch& batch, Context& context) {
    require_still(batch, "castor_writer");
    if (batch.delayed)
      return context.books().rejected(batch.event_count(), "delayed coincidences, which CASToR's files do not hold");
    if (!on_host(batch.memory())) return process(host_batch(batch), context);
    writer_.write(batch);
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    writer_.commit();
    context.report("events", static_cast<std::int64_t>(writer_.events()));
  }

 private:
  castor::EventWriter writer_;
};

TOFSTREAM_GADGET(CastorWriter, "castor_writer", "Writes events as CASToR's list mode, with the scanner");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
