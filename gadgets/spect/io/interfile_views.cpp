// Projection data in Interfile 3.3: the pixels of the data file that a header names.
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/spect/io/interfile_study.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

class InterfileViews final : public ViewReader {
 public:
  static std::unique_ptr<ViewReader> open(const fs::path& path, const ViewOverrides& overrides) {
    const InterfileStudy study(read_interfile(path), path, overrides);
    InterfileData data = study.data();
    Contents contents{.format = format_of(study.dialect()),
                      .set = study.set(),
                      .stored = {},
                      .is_flipped_u = overrides.flip_u,
                      // SIMIND's rows run from the head down.
                      .is_flipped_w = overrides.flip_w != (study.dialect() == InterfileDialect::simind),
                      .negative_is_zero = overrides.negative == NegativeCounts::zero,
                      .notes = study.notes(),
                      .quantity = study.quantity()};
    for (int window = 0; window < study.windows(); ++window)
      for (int view = 0; view < study.views(); ++view)
        contents.stored.push_back(
            {.view = view, .window = study.place_of_window(window), .at = std::int64_t{window} * study.views() + view});
    const std::int64_t bytes = study.data_bytes(contents.set, data.pixels);
    std::unique_ptr<InterfileViews> views(new InterfileViews(path, std::move(contents), std::move(data)));
    views->check_length(bytes);
    return views;
  }

 private:
  InterfileViews(const fs::path& path, Contents contents, InterfileData data)
      : ViewReader(path, std::move(contents)),
        data_(std::move(data)),
        file_(data_.path, std::ios::binary),
        bytes_(static_cast<std::size_t>(set()->pixels() * data_.pixels.bytes)) {}

  static const char* format_of(InterfileDialect dialect) {
    switch (dialect) {
      case InterfileDialect::simind:
        return "Interfile of SIMIND";
      case InterfileDialect::gate:
        return "Interfile of GATE";
      case InterfileDialect::general:
        break;
    }
    return "Interfile as STIR reads it";
  }

  void check_length(std::int64_t described) const {
    std::error_code error;
    const auto found = static_cast<std::int64_t>(fs::file_size(data_.path, error));
    if (error) refuse_file(fmt::format("its data file {} cannot be read", printable(data_.path.string())));
    const std::int64_t wanted = data_.offset + described;
    if (found < wanted)
      refuse_file(fmt::format("its data file {} is cut short: {} bytes wanted, {} found",
                              printable(data_.path.string()), wanted, found));
    if (found > wanted)
      refuse_file(
          fmt::format("its data file {} has {} bytes, and the header describes {}: is its number of projections, "
                      "matrix size or number of bytes per pixel right?",
                      printable(data_.path.string()), found, wanted));
  }

  void read_pixels(std::int64_t at, std::span<float> to) override {
    file_.seekg(data_.offset + at * static_cast<std::int64_t>(bytes_.size()));
    file_.read(reinterpret_cast<char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
    if (!file_) refuse_file(fmt::format("view {} of its data file cannot be read", at));
    decode_pixels(data_.pixels, bytes_, to);
  }

  InterfileData data_;
  std::ifstream file_;
  std::vector<std::byte> bytes_;  // of one view
};

}  // namespace

std::unique_ptr<ViewReader> open_interfile_views(const fs::path& path, const ViewOverrides& overrides) {
  return InterfileViews::open(path, overrides);
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
