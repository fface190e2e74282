// Projection data in DICOM NM, tomographic multi-frame images (PS3.3 C.8.4), frame by frame.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gadgets/spect/io/dicom_study.hpp"

namespace tofstream::formats {
namespace {

class DicomViews final : public ViewReader {
 public:
  static std::unique_ptr<ViewReader> open(const std::filesystem::path& path, const ViewOverrides& overrides) {
    const DicomStudy study(path, overrides);
    Contents contents{.format = "DICOM NM",
                      .set = study.set(),
                      .stored = {},
                      .is_flipped_u = study.is_flipped_u(),
                      .is_flipped_w = study.is_flipped_w(),
                      .negative_is_zero = overrides.negative == NegativeCounts::zero,
                      .notes = study.notes(),
                      .quantity = study.quantity()};
    for (std::size_t f = 0; f < study.frames().size(); ++f)
      contents.stored.push_back({.view = study.view_of_frame()[f],
                                 .window = study.place_of_window(study.frames()[f].window),
                                 .at = static_cast<std::int64_t>(f)});
    return std::unique_ptr<ViewReader>(new DicomViews(path, std::move(contents), study.pixel_format(), study.pixels()));
  }

 private:
  DicomViews(const std::filesystem::path& path, Contents contents, const RawPixels& format,
             std::vector<std::byte> pixels)
      : ViewReader(path, std::move(contents)), format_(format), pixels_(std::move(pixels)) {}

  void read_pixels(std::int64_t at, std::span<float> to) override {
    const std::size_t bytes = to.size() * static_cast<std::size_t>(format_.bytes);
    decode_pixels(format_, std::span(pixels_).subspan(static_cast<std::size_t>(at) * bytes, bytes), to);
  }

  RawPixels format_;
  std::vector<std::byte> pixels_;  // of all frames
};

}  // namespace

std::unique_ptr<ViewReader> open_dicom_views(const std::filesystem::path& path, const ViewOverrides& overrides) {
  return DicomViews::open(path, overrides);
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
