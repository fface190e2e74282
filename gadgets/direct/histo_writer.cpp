// Writes histo-images as NIfTI, for looking at them and for networks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/direct/io/histo_nifti.hpp"
#include "gadgets/views.hpp"
#include "kernels/types/float_counts.hpp"

namespace tofstream {
namespace {

struct HistoWriter {
  struct Params {
    std::filesystem::path file = "histo.nii.gz";
  };
  static constexpr auto params = describe(param<&Params::file>(
      "file", in_run_folder, "Name in the output folder, .nii or .nii.gz: a volume of counts for each view"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& /*p*/) {
    return {.note = "holds the counts of all views until they are written"};
  }

  HistoWriter(const Params& p, Context& context) : path_(context.output_file(p.file)) {
    const std::string name = p.file.string();
    if (!name.ends_with(".nii") && !name.ends_with(".nii.gz"))
      throw std::invalid_argument(fmt::format("file must end in .nii or .nii.gz, not {}", name));
  }

  void process(const ViewBatch& batch, Context& context) {
    if (batch.window != 0) return;
    if (!set_) begin(batch.set);
    if (!batch.has_counts() || !(*batch.set == *set_))
      throw std::runtime_error("views without counts, or of another set, came: take them from histo_deposit");
    ViewBatch there = batch.to(Memory::host);
    synchronize(nullptr);
    const ViewBatch views = with_float_counts(std::move(there));
    const auto pixels = static_cast<std::size_t>(set_->pixels());
    for (std::size_t v = 0; v < views.records.size(); ++v)
      std::ranges::transform(views.counts.span().subspan(v * pixels, pixels), of_view(views.records[v].view),
                             of_view(views.records[v].view).begin(), std::plus<>());
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    if (!set_) return context.log().warning("no views came: no file is written");
    write_histo_images(path_, *set_, counts_);
    context.report("file", path_.string());
  }

 private:
  void begin(std::shared_ptr<const ViewSet> set) {
    if (set->kind != ViewKind::histo_image)
      throw std::runtime_error("views of a camera came: projections_writer writes them");
    set_ = std::move(set);
    counts_.assign(set_->places.size() * static_cast<std::size_t>(set_->pixels()), 0.0f);
  }

  std::span<float> of_view(std::int32_t view) {
    const auto pixels = static_cast<std::size_t>(set_->pixels());
    return std::span(counts_).subspan(static_cast<std::size_t>(view) * pixels, pixels);
  }

  std::filesystem::path path_;
  std::shared_ptr<const ViewSet> set_;
  std::vector<float> counts_;
};

TOFSTREAM_GADGET(HistoWriter, "histo_writer", "Writes histo-images as a 4D NIfTI of counts");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
