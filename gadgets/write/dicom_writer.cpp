// Writes estimates as a DICOM PET series, a folder with a file a slice: the final image, or of a dynamic scan all
// frames, and on request each iteration's or update's.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/gadget.hpp"
#include "gadgets/io/dicom/data_set.hpp"
#include "gadgets/io/dicom/pet_series.hpp"
#include "gadgets/write/estimate_writer.hpp"
#include "gadgets/write/frame_series.hpp"
#include "gadgets/write/reconstruction_method.hpp"
#include "gadgets/write/scan_time.hpp"

namespace tofstream {
namespace {

struct DicomWriter {
  struct Params {
    std::filesystem::path folder = "dicom";
    Every every = Every::final;
    std::vector<int> at_iterations;
    formats::DicomPatient patient;
    Tracer tracer;
    std::string scan_start, study_description, series_description = "tofstream";
    int series_number = 1;
    std::string study_uid, frame_of_reference_uid;
  };
  static constexpr auto params = describe(
      param<&Params::folder>("folder", in_run_folder,
                             "Name in the output folder of the series' folder; intermediate images add their number"),
      param<&Params::every>("every", "Write only the final image, or also that of each iteration or update"),
      param<&Params::at_iterations>("at_iterations", range(1, 10000), at_iterations_words),
      param<&Params::patient>("patient", "Who was scanned; anonymous where nothing is said"),
      param<&Params::tracer>("tracer", "What was injected; without it no viewer can show SUV"),
      param<&Params::scan_start>("scan_start",
                                 "Date and time at which the scan started, as '2026-03-01T09:30:00'. DICOM wants one: "
                                 "1900-01-01 stands where it is empty"),
      param<&Params::study_description>("study_description", "Study Description"),
      param<&Params::series_description>("series_description", "Series Description"),
      param<&Params::series_number>("series_number", range(0, 1 << 30), "Series Number"),
      param<&Params::study_uid>("study_uid", "Study Instance UID of the study that the series belongs to; empty: one "
                                             "that follows from the image"),
      param<&Params::frame_of_reference_uid>("frame_of_reference_uid",
                                             "Frame of Reference UID of the images that this one lies on, such as a "
                                             "CT of the same session; empty: one that follows from the image"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // The last image is a message that is kept; frames are kept too.
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.copy_bytes = inputs[0], .lower = "image.size", .note = "of a dynamic scan, one image more for each frame"};
  }

  DicomWriter(const Params& p, Context& context) : p_(p) {
    if (!formats::can_write_dicom())
      throw std::runtime_error("this build has no DICOM writer: build with libgdcm-dev, or use nifti_writer");
    if (p.folder.empty() || p.folder.lexically_normal() == ".")
      throw std::invalid_argument("folder must name a folder of the series' own");
    check_pet_details(described());
    (void)context.output_file(p.folder);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    if (method_.empty()) method_ = reconstruction_method(context);
    if (estimate->modality == Modality::spect)
      throw std::runtime_error(
          "the image is of a gamma camera (SPECT), and this gadget writes DICOM's PET images: write it by "
          "nifti_writer");
    if (estimate->step.gate > 0 && estimate->step.frame.number > 0)
      throw std::runtime_error(
          "the images are of gates, and this gadget writes no gated series: write them by nifti_writer");
    if (!std::exchange(last_, estimate)) require_free_folder(context);
    if (is_due(*estimate, p_.every, p_.at_iterations))
      write(numbered(p_.folder, estimate->step, p_.every), one_image(0), context);
    if (estimate->step.ends_frame()) frames_.add(*estimate);
  }

  void flush(Context& context) {
    if (!frames_.is_empty())
      write(p_.folder, all_frames(), context);
    else if (last_ && last_->step.iteration > 0)
      write(p_.folder, one_image(scan_time_s(context)), context);
  }

 private:
  // Before any event is projected: no run is to end with a folder that it may not write.
  void require_free_folder(Context& context) const {
    const formats::PetSeries series = one_image(0);
    if (last_->step.frame.number == 0)
      formats::require_pet_folder(context.output_dir() / p_.folder, pet_file_names(series));
  }

  formats::PetSeries described() const {
    formats::PetSeries series;
    series.patient = p_.patient;
    series.tracer = p_.tracer;
    series.study_uid = p_.study_uid;
    series.frame_of_reference_uid = p_.frame_of_reference_uid;
    series.study_description = p_.study_description;
    series.series_description = p_.series_description;
    series.series_number = p_.series_number;
    series.scan_start = p_.scan_start;
    if (!last_) return series;
    series.reconstruction =
        fmt::format("tofstream, {}{}", method_.empty() ? "" : method_ + ", ", step_words(last_->step));
    if (!last_->filters.empty()) series.comment = fmt::format("The image was {}.", words_of(last_->filters));
    series.quantity = last_->quantity.get();
    return series;
  }

  // `scan_s`: 0 where it is not known. An image of one frame alone knows its own time.
  formats::PetSeries one_image(double scan_s) const {
    formats::PetSeries series = described();
    const ScanFrame& frame = last_->step.frame;
    const auto image = on_host(*last_);
    series.grid = image->grid;
    series.frames = {{frame.number > 0 ? frame.start_s : 0, frame.number > 0 ? frame.duration_s : scan_s,
                      image->voxels.span()}};
    return series;
  }

  formats::PetSeries all_frames() const {
    formats::PetSeries series = described();
    const FrameTimes& times = frames_.times();
    series.grid = frames_.grid();
    series.is_dynamic = true;
    for (std::size_t f = 0; f < times.start_s.size(); ++f)
      series.frames.push_back({times.start_s[f], times.duration_s[f], frames_.voxels(f)});
    return series;
  }

  void write(const std::filesystem::path& folder, const formats::PetSeries& series, Context& context) {
    for (const std::string& name : pet_file_names(series)) (void)context.output_file(folder / name);
    const std::filesystem::path target = context.output_file(folder);
    write_pet_series(target, series);
    const formats::PetValues values = formats::pet_values(series.quantity);
    if (!std::exchange(is_said_, true) && !values.remarks.empty())
      context.log().warning(fmt::format("{}: {}", target.string(), fmt::join(values.remarks, " ")));
    context.report("file", target.string());
    context.report("dicom_units", values.units);
    report_image(*last_, context);
  }

  const Params p_;
  std::shared_ptr<const Estimate> last_;
  FrameSeries frames_;
  std::string method_;  // of reconstruction; empty: not known
  bool is_said_ = false;
};

TOFSTREAM_GADGET(DicomWriter, "dicom_writer",
                 "Writes the image of a PET scan as a DICOM series, a file a slice; frames as time slices");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
