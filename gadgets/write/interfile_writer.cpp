// Histograms events into projection data of PET that STIR reads.
#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/interfile/bin_writer.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

struct InterfileBinWriter {
  struct Params {
    std::filesystem::path file = "scan.hs", normalisation;
    int span = 1, mashing = 1, most_ring_difference = -1, tangential = 0;
    bool tof = true;
    int tof_bins = 0;
    double tof_bin_ps = 0;
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", in_run_folder,
                           "Name of the header in the output folder, .hs; beside it come the numbers (.s) and, for "
                           "crystals that do not lie evenly on a cylinder, their places (.txt)"),
      param<&Params::normalisation>("normalisation", in_run_folder,
                                    "Header of a second file, with the efficiencies of the scanner's pairs as factors "
                                    "for interfile_source; none: not written"),
      param<&Params::span>("span", range(1, 8191), "Ring differences that a segment joins, an odd number"),
      param<&Params::mashing>("mashing", range(1, 32768), "Views that a view joins"),
      param<&Params::most_ring_difference>("most_ring_difference", range(-1, 4095),
                                           "Lines of greater ring differences are left out; -1: none"),
      param<&Params::tangential>("tangential", range(0, 65535), "Tangential positions; 0: all"),
      param<&Params::tof>("tof", "Keep the events' ToF, in bins; without it lines are whole"),
      param<&Params::tof_bins>("tof_bins", range(0, 16384), "Of events whose ToF has no bins: how many are made"),
      param<&Params::tof_bin_ps>("tof_bin_ps", range(0, 1e6), unit("ps"),
                                 "The same: how wide, of the difference of arrival times"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = inputs[0],
            .lower = "batch_events",
            .note = "4 bytes for each bin of the file, as many as the scanner has pairs of crystals and ToF bins"};
  }

  InterfileBinWriter(const Params& p, Context& context)
      : p_(p),
        writer_(context.output_file(p.file), {.span = p.span,
                                              .mashing = p.mashing,
                                              .most_ring_difference = p.most_ring_difference,
                                              .tangential = p.tangential,
                                              .tof = p.tof,
                                              .tof_bins = p.tof_bins,
                                              .tof_bin_ps = p.tof_bin_ps}) {
    for (const auto& file : {p.file, p.normalisation})
      if (!file.empty() && file.extension() != ".hs")
        throw std::invalid_argument(fmt::format("a header of projection data ends in .hs, not {}", file.string()));
    const interfile::ProjectionFiles files(p.file);
    for (const auto& file : {files.data, files.crystals}) (void)context.output_file(file);
    if (p.normalisation.empty()) return;
    (void)context.output_file(interfile::ProjectionFiles(p.normalisation).data);
    normalisation_ = context.output_file(p.normalisation);
  }

  void process(const EventBatch& batch, Context& context) {
    require_still(batch, "interfile_writer");
    if (batch.delayed)
      return context.books().rejected(batch.event_count(), "delayed coincidences, which are no prompts");
    if (!on_host(batch.memory())) return process(host_batch(batch), context);
    const auto taken = writer_.take(batch);
    context.books().written(taken.written);
    if (taken.beside_bins > 0) context.books().rejected(taken.beside_bins, "lines that the bins do not have");
    if (taken.beside_tof > 0) context.books().rejected(taken.beside_tof, "ToF beyond the outermost bin");
  }

  void flush(Context& context) {
    writer_.commit();
    if (!normalisation_.empty()) writer_.commit_normalisation(normalisation_);
    context.report("counts", static_cast<std::int64_t>(writer_.counts()));
    context.report("bins", writer_.header().numbers_in_file());
  }

 private:
  const Params p_;
  interfile::BinWriter writer_;
  std::filesystem::path normalisation_;
};

TOFSTREAM_GADGET(InterfileBinWriter, "interfile_writer",
                 "Histograms events into projection data of PET that STIR reads (Interfile)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
