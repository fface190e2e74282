// A scanner as CASToR's files describe it: crystals in the order of their identifiers, from a .geom file's numbers or
// from a table (.lut) with its header (.hscan). CASToR general documentation, "Scanner system integration".
//
// Coordinates are CASToR's, in mm: left-handed, seen from the front of the gantry x to the right, y up, and z into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gadgets/io/castor/data_header.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream::castor {

struct Crystal {
  Vec3 centre_mm;
  Vec3 outward;  // unit vector along its depth, away from the scanner's middle, if the file says it
};

/// Consecutive crystals of one depth.
struct Layer {
  std::uint32_t crystals = 0;
  double depth_mm = 0;
  double interaction_mm = 0;  // the mean depth at which photons interact, below the face
  double axial_mm = 0;        // length of a crystal along z; 0: not said
};

struct Geometry {
  std::string name;
  std::filesystem::path file;
  std::vector<Layer> layers;
  std::vector<Crystal> crystals;
  double least_angle_deg = 0;            // between the depths of two crystals of a pair that counts
  std::vector<std::string> unread = {};  // keywords that are not used, as "keyword: value"
};

/// Reads a .geom file, or the table that a .hscan file describes and that lies beside it with the ending .lut. Throws
/// std::runtime_error of one line, "file:line: what, and what to do".
Geometry read_geometry(const std::filesystem::path& file);

/// The file that describes a header's scanner: `asked`, or NAME.geom or NAME.hscan in the folder `asked`; if that is
/// empty, beside the header or in CASToR's own folder, $CASTOR_CONFIG/scanner. Throws std::runtime_error of one line
/// that says where it looked.
std::filesystem::path find_geometry(const DataHeader& header, const std::filesystem::path& asked);

/// The text of a .hscan file and the bytes of its .lut for a table of crystals. `field_mm` and `voxels`: of the image
/// that CASToR makes where it is not told another, across and along the axis.
struct GeometryFiles {
  std::string hscan;
  std::vector<std::byte> lut;
};
GeometryFiles geometry_files(const Geometry& geometry, const double (&field_mm)[2], const int (&voxels)[2]);

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
