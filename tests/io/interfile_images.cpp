// Images of PET as STIR writes them: what is written is read bit for bit, planes lie where STIR's documentation has them,
// and what cannot be is refused.
#include "core/base/private_folder.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "tests/io/interfile_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using interfile::testing::with_line;
using interfile::testing::write_text;

namespace {

Image numbered_image() {
  Image image = Image::zeros({{3, 4, 5}, {2, 3, 4}, {-7.25f, 1.5f, -30}});
  for (std::int64_t v = 0; v < image.voxels.size(); ++v) image.voxels[v] = 0.1f * static_cast<float>(v);
  return image;
}

// As STIR writes one that states no offset: 2 x 2 pixels in 3 planes, of numbers 0 to 11.
const std::string stir_header =
    "!INTERFILE  :=\n!imaging modality := PT\nname of data file := image.v\n!type of data := PET\n"
    "imagedata byte order := LITTLEENDIAN\n!PET data type := Image\n!number format := unsigned integer\n"
    "!number of bytes per pixel := 1\nnumber of dimensions := 3\nmatrix axis label [1] := x\n!matrix size [1] := 2\n"
    "scaling factor (mm/pixel) [1] := 4\nmatrix axis label [2] := y\n!matrix size [2] := 2\n"
    "scaling factor (mm/pixel) [2] := 5\nmatrix axis label [3] := z\n!matrix size [3] := 3\n"
    "scaling factor (mm/pixel) [3] := 6\n!END OF INTERFILE :=\n";

}  // namespace

TEST_CASE("Interfile images: what is written is read, bit for bit, at its place") {
  const PrivateTemporaryFolder folder;
  const Image image = numbered_image();
  interfile::write_image(folder.path() / "image.hv", image);
  CHECK(interfile::is_image_header(folder.path() / "image.hv"));
  CHECK(is_image_file(folder.path() / "image.hv"));
  const Image read = read_image_file(folder.path() / "image.hv");
  CHECK(read.grid == image.grid);
  CHECK(read.voxels.to_vector() == image.voxels.to_vector());
  write_nifti(folder.path() / "image.nii", image);
  CHECK(read_image_file(folder.path() / "image.nii").voxels.to_vector() == image.voxels.to_vector());
}

TEST_CASE(
    "Interfile images: without an offset STIR's middle plane lies in the scanner's middle, and z points to the feet") {
  const PrivateTemporaryFolder folder;
  std::string numbers;
  for (char n = 0; n < 12; ++n) numbers += n;
  write_text(folder.path() / "image.hv", stir_header);
  write_text(folder.path() / "image.v", numbers);
  const Image image = interfile::read_image(folder.path() / "image.hv");
  CHECK(image.grid.centre(0, 0, 0) == Vec3{-4, -5, -6});
  CHECK(image.voxels[0] == 8);  // the file's last plane
  CHECK(image.voxels[image.grid.index(1, 0, 2)] == 1);
  // Ring 0 of STIR, the furthest into the scanner, is at our greatest z, where the file's first plane is.
  CHECK(image.voxels[image.grid.index(0, 1, 2)] == 2);
  write_text(folder.path() / "image.hv",
             with_line(stir_header, "!END",
                       "first pixel offset (mm) [3] := 10\nimage scaling factor[1] := 0.01\n!END OF INTERFILE :="));
  const Image moved = interfile::read_image(folder.path() / "image.hv");
  CHECK(moved.grid.origin_mm.z == approx(-16));
  CHECK(read_mu_map(folder.path() / "image.hv").voxels[0] == approx(0.008));
  CHECK_FALSE(mu_map_energy_keV(folder.path() / "image.hv").has_value());
}

TEST_CASE("Interfile images: what cannot be is refused in one line") {
  const PrivateTemporaryFolder folder;
  write_text(folder.path() / "image.v", std::string(12, '\1'));
  const auto refused = [&](const std::string& text, const char* what) {
    write_text(folder.path() / "image.hv", text);
    CHECK_THROWS_WITH_AS(interfile::read_image(folder.path() / "image.hv"), doctest::Contains(what),
                         std::runtime_error);
  };
  refused(with_line(stir_header, "!matrix size [3]", "!matrix size [3] := 4"), "image.v: 12 bytes, and");
  refused(with_line(stir_header, "!matrix size [3]", "!matrix size [3] := 4"), "cut short");
  refused(with_line(stir_header, "!matrix size [3]", "!matrix size [3] := 2"), "it is longer");
  refused(with_line(stir_header, "imagedata byte order", "imagedata byte order := PDP"), "LITTLEENDIAN or BIGENDIAN");
  refused(with_line(stir_header, "!PET data type", "!PET data type := Emission"), "these are projection data");
  refused(with_line(stir_header, "number of dimensions", "number of dimensions := 4"), "axes x, y and z");
  refused(with_line(stir_header, "matrix axis label [1]", "matrix axis label [1] := z"), "axis 1 must be x");
  refused(with_line(stir_header, "name of data file", "name of data file := other.v"), "'name of data file' of");
  CHECK_THROWS_WITH(interfile::write_image(folder.path() / "image.nii", numbered_image()),
                    doctest::Contains("must end in .hv"));
}
// SPDX-License-Identifier: Apache-2.0
