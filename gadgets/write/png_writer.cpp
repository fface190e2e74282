// Draws estimates as PNG: slices and maximum-intensity projections with colour bar and mm scale.
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tbb/parallel_invoke.h>

#include "core/gadget.hpp"
#include "gadgets/io/picture/quantity_view.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {

constexpr auto enum_names(ColourMap) {
  return names(ColourMap::inverted_grey, "inverted_grey", ColourMap::grey, "grey", ColourMap::hot, "hot",
               ColourMap::viridis, "viridis");
}

enum class CutAt { centre, hottest };
constexpr auto enum_names(CutAt) {
  return names(CutAt::centre, "centre", CutAt::hottest, "hottest");
}

namespace {

struct PngWriter {
  struct Params {
    std::filesystem::path file = "image.png";
    bool mip = true;
    ColourMap colours = ColourMap::inverted_grey;
    std::vector<float> point_mm;
    CutAt at = CutAt::centre;
    std::string title;
    Every every = Every::final;
    std::vector<int> at_iterations;
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", in_run_folder, "Name in the output folder; the projections' name adds _mip"),
      param<&Params::mip>("mip", "Draw maximum-intensity projections too"),
      param<&Params::colours>("colours", "Colour map"),
      param<&Params::point_mm>("point_mm", range(-1e4, 1e4), unit("mm"),
                               "Slices go through [x, y, z]; none: as `at` says"),
      param<&Params::at>("at",
                         "Where slices go without point_mm: through the image's centre, or where 3 x 3 x 3 voxels are "
                         "hottest, so that a lone source is not missed"),
      param<&Params::title>("title", "Title above the picture"),
      param<&Params::every>("every", "Draw only the final image, or also that of each iteration or update"),
      param<&Params::at_iterations>("at_iterations", range(1, 10000), at_iterations_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // The canvas and the pixels of its panels, one picture at a time; the last image is a message that is kept.
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    const auto width = static_cast<std::size_t>(ViewSettings{}.width_px);
    constexpr std::size_t bytes_a_pixel = 4;
    return {.call_bytes = 2 * bytes_a_pixel * width * width,
            .copy_bytes = inputs[0],
            .lower = "image.size",
            .note = "besides, three slices of the image"};
  }

  PngWriter(const Params& p, Context& context) : p_(p) {
    if (!p.point_mm.empty() && p.point_mm.size() != 3)
      throw std::invalid_argument(fmt::format("point_mm needs three numbers, not {}", p.point_mm.size()));
    context.output_file(p.file);
    if (p.mip) context.output_file(projections(p.file));
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    last_ = estimate;
    if (estimate->step.iteration == 0) get_ready();
    if (is_due(*estimate, p_.every, p_.at_iterations)) draw(numbered(p_.file, estimate->step, p_.every), context);
  }

  void flush(Context& context) {
    if (last_ && last_->step.iteration > 0) draw(p_.file, context);
  }

 private:
  // Done while the first events are projected: at the end everything would wait for it.
  void get_ready() const {
    load_fonts();
    on_host(*last_);
  }

  void draw(const std::filesystem::path& file, Context& context) const {
    const auto image = on_host(*last_);
    ViewSettings view{.title = p_.title, .map = p_.colours, .at_hottest = p_.at == CutAt::hottest};
    if (last_->quantity) tell_quantity(*last_->quantity, view);
    tell_filter(words_of(last_->filters), view);
    if (!p_.point_mm.empty()) view.point_mm = Vec3{p_.point_mm[0], p_.point_mm[1], p_.point_mm[2]};
    ViewSettings all_through = view;
    all_through.kind = ViewSettings::Kind::mip;
    const std::filesystem::path slices = context.output_file(file);
    const std::filesystem::path mip = p_.mip ? context.output_file(projections(file)) : "";
    std::exception_ptr failure;  // of the projections; a failure of the slices is thrown first
    const auto draw_projections = [&] {
      try {
        if (p_.mip) write_view_png(mip, *image, all_through);
      } catch (...) {
        failure = std::current_exception();
      }
    };
    tbb::parallel_invoke([&] { write_view_png(slices, *image, view); }, draw_projections);
    if (failure) std::rethrow_exception(failure);
    context.report(picture_figure, slices.string());
    if (p_.mip) context.report(projections_figure, mip.string());
    report_image(*last_, context);
  }

  static std::filesystem::path projections(const std::filesystem::path& file) {
    return file.parent_path() / (file.stem().string() + "_mip.png");
  }

  Params p_;
  std::shared_ptr<const Estimate> last_;
};

TOFSTREAM_GADGET(PngWriter, "png_writer", "Draws slices and maximum-intensity projections as PNG");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
