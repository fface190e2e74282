// Reads a rotating gamma camera from YAML (share/scanners/spect_lehr.yaml): its detector, its heads' way around the
// patient, its collimator. Every mistake is one line: file:line:column: what is wrong.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "kernels/spect/beam.hpp"
#include "kernels/spect/psf.hpp"
#include "kernels/types/views.hpp"

namespace tofstream::formats {

struct Camera {
  std::shared_ptr<const ViewSet> views;  // as a scan with it is planned
  Beam beam = Beam::parallel;
  float focal_mm = 0;                 // of a fan or cone: from the collimator's face to the focus
  PsfModel psf;                       // of the collimator's holes, or as it was measured
  std::optional<double> cps_per_MBq;  // of a source at the face, in air; none: images have no absolute scale
};

/// The camera of a file. Throws std::runtime_error in the form above, or where the file cannot be read.
Camera read_camera(const std::filesystem::path& file);
/// The same from text; `file` is what messages call it.
Camera parse_camera(const std::string& text, const std::string& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
