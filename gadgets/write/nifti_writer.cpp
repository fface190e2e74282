// Writes estimates as NIfTI: the final image, or of a dynamic scan all frames, and on request each iteration's or
// update's; and the JSON of BIDS beside them.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/bids_json.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/write/estimate_writer.hpp"
#include "gadgets/write/frame_series.hpp"
#include "gadgets/write/reconstruction_method.hpp"
#include "gadgets/write/scan_time.hpp"

namespace tofstream {
namespace {

struct NiftiWriter {
  struct Params {
    std::filesystem::path file = "image.nii.gz";
    Every every = Every::final;
    std::vector<int> at_iterations;
    bool bids = false;
    std::filesystem::path bids_details;
    Tracer tracer;
    std::string scan_start;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", in_run_folder,
                                    "Name in the output folder, .nii or .nii.gz; intermediate images add their number"),
               param<&Params::every>("every", "Write only the final image, or also that of each iteration or update"),
               param<&Params::at_iterations>("at_iterations", range(1, 10000), at_iterations_words),
               param<&Params::bids>("bids",
                                    "Write JSON with the keys of BIDS for PET beside each image (image.json; of SPECT, "
                                    "which BIDS does not have, the same keys); beside "
                                    "the frames of a dynamic scan it is written in any case"),
               param<&Params::bids_details>("bids_details", reads_file,
                                            "A JSON object whose keys are added to it: what no program can know, as "
                                            "Manufacturer, BodyPart or ModeOfAdministration"),
               param<&Params::tracer>("tracer", "What was injected, for that JSON"),
               param<&Params::scan_start>("scan_start",
                                          "Date and time at which the scan started, as '2026-03-01T09:30:00': its time "
                                          "is TimeZero there; empty: not said"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // Voxels go straight from the image to the file; the last image is a message that is kept. Frames are kept too.
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.copy_bytes = inputs[0], .lower = "image.size", .note = "of a dynamic scan, one image more for each frame"};
  }

  NiftiWriter(const Params& p, Context& context) : p_(p) {
    const std::string name = p.file.string();
    if (!name.ends_with(".nii") && !name.ends_with(".nii.gz"))
      throw std::invalid_argument(fmt::format("file must end in .nii or .nii.gz, not {}", name));
    if (!p.bids_details.empty()) details_ = read_bids_details(p.bids_details);
    check_bids({.filters = {}, .tracer = p.tracer, .scan_start = p.scan_start});
    context.output_file(p.file);
    if (p.bids) context.output_file(frame_times_path(p.file));
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    if (!last_ || last_->modality != estimate->modality)
      check_bids({.modality = estimate->modality, .filters = {}, .tracer = p_.tracer, .scan_start = p_.scan_start});
    last_ = estimate;
    if (estimate->step.iteration == 0) on_host(*estimate);  // reserves the memory for images to be written
    events_.take_in(context.message());
    if (is_due(*estimate, p_.every, p_.at_iterations)) write(numbered(p_.file, estimate->step, p_.every), 0, context);
    if (!estimate->step.ends_frame()) return;
    if (frames_.is_empty()) context.output_file(frame_times_path(p_.file));
    frames_.add(*estimate);
  }

  void flush(Context& context) {
    if (!frames_.is_empty())
      write_frames(context);
    else if (last_ && last_->step.iteration > 0)
      write(p_.file, scan_time_s(context), context);
  }

 private:
  // An image without provenance is better than none.
  std::string provenance(Context& context) const {
    if (!context.control()) return {};
    std::string json = provenance_of(*last_, events_.events(), context);
    if (json.size() <= longest_nifti_comment) return json;
    context.log().warning(
        "the image carries no provenance: the pipeline and the changes of its parameters are too long for it");
    return {};
  }

  NiftiText text_of_last(Context& context) const {
    return {.description = fmt::format("tofstream, {}{}", step_words(last_->step), label_of(*last_)),
            .unit = unit_of(*last_),
            .comment = provenance(context)};
  }

  BidsImage bids_of_last(const FrameTimes& times, Context& context) const {
    return {.times = times,
            .quantity = last_->quantity.get(),
            .modality = last_->modality,
            .filters = last_->filters,
            .tracer = p_.tracer,
            .scan_start = p_.scan_start,
            .method = reconstruction_method(context),
            .settings = reconstruction_settings(last_->step),
            .more = details_};
  }

  // `scan_s`: 0 where it is not known. An image of one frame alone knows its own time.
  FrameTimes times_of_last(double scan_s) const {
    const ScanFrame& frame = last_->step.frame;
    if (frame.number > 0) return {{frame.start_s}, {frame.duration_s}};
    return scan_s > 0 ? FrameTimes{{0}, {scan_s}} : FrameTimes{};
  }

  void write(const std::filesystem::path& file, double scan_s, Context& context) const {
    const std::filesystem::path target = context.output_file(file);
    write_nifti(target, *on_host(*last_), text_of_last(context));
    if (p_.bids)
      write_bids_json(context.output_file(frame_times_path(file)), bids_of_last(times_of_last(scan_s), context));
    report(target, context);
  }

  void write_frames(Context& context) const {
    const std::filesystem::path target = context.output_file(p_.file);
    write_nifti_volumes(target, frames_.grid(), frames_.voxels(), text_of_last(context));
    write_bids_json(target, bids_of_last(frames_.times(), context));
    report(target, context);
  }

  void report(const std::filesystem::path& target, Context& context) const {
    context.report("file", target.string());
    report_image(*last_, context);
  }

  Params p_;
  std::shared_ptr<const Estimate> last_;
  EventSpan events_;
  FrameSeries frames_;
  nlohmann::ordered_json details_ = nlohmann::ordered_json::object();  // of BIDS, that the user gave
};

TOFSTREAM_GADGET(NiftiWriter, "nifti_writer", "Writes the image as NIfTI (float32, mm, RAS affine); frames as one 4D file, with their times as JSON");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
