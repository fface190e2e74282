// What priors are told alike, and the images that go with them: kappa, and an anatomical image that chooses neighbours.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "core/gadget.hpp"
#include "kernels/prior/chosen_neighbours.hpp"
#include "kernels/prior/prior.hpp"

namespace tofstream {

constexpr auto enum_names(Neighbours) {
  return names(Neighbours::all, "all", Neighbours::faces, "faces");
}
constexpr auto enum_names(Border) {
  return names(Border::exclude, "exclude", Border::replicate, "replicate");
}

/// What every prior is told; one with parameters of its own derives from it.
struct PriorParams {
  double beta = 0;
  std::filesystem::path kappa;
  static constexpr auto params =
      describe(param<&PriorParams::beta>("beta", range(0, 1e30), live, required,
                                         "Strength: the penalty is beta times the prior's sum over the image, for the "
                                         "reference time"),
               param<&PriorParams::kappa>("kappa", reads_file,
                                          "NIfTI on the image's grid, not negative: a pair of voxels counts by the "
                                          "product of both values; none: 1"));
};

/// What priors of pairs of neighbours are told besides.
struct NeighbourPriorParams : PriorParams {
  Neighbours neighbours = Neighbours::all;
  Border border = Border::exclude;
  std::filesystem::path anatomy;
  int most_alike = 9;
  static constexpr auto params =
      PriorParams::params +
      describe(
          param<&NeighbourPriorParams::neighbours>(
              "neighbours", "all: the 26 around a voxel; faces: the 6 that share a face with it"),
          param<&NeighbourPriorParams::border>(
              "border",
              "Of a voxel at the image's border, exclude: there are no neighbours outside; replicate: the "
              "nearest voxel inside is taken for them, as PETRIC-MaGeZ, PyTomography and OMEGA do"),
          param<&NeighbourPriorParams::anatomy>(
              "anatomy", reads_file,
              "NIfTI of the anatomy on any grid that covers the image: it chooses each voxel's neighbours (Bowsher); "
              "none: all are neighbours"),
          param<&NeighbourPriorParams::most_alike>(
              "most_alike", range(1, 26), "So many of the 26 neighbours, most alike in the anatomy, are chosen"));
};

/// The images of a prior, read at the start, and brought to an estimate's grid and memory when the first comes.
class PriorImages {
 public:
  /// The anatomy chooses neighbours where `most_alike` is not 0. Throws std::runtime_error, one line, for a file that
  /// cannot be read, or a kappa that is negative.
  explicit PriorImages(const std::filesystem::path& kappa, const std::filesystem::path& anatomy = {},
                       int most_alike = 0);

  /// Settings of strength `beta` for images like `image`. Throws std::runtime_error where kappa lies on another grid,
  /// or the anatomy does not cover the image.
  PriorSettings settings(double beta, const Image& image);
  /// The anatomy on the grid of the image that settings() was called with last, in its memory.
  const std::shared_ptr<const Image>& anatomy() const { return anatomy_; }
  /// The largest value of the anatomy's file, without its sign.
  float largest_of_anatomy() const;

 private:
  void bring_to(const Image& image);
  void bring_anatomy_to(const Image& image, Memory memory);

  std::filesystem::path kappa_path_, anatomy_path_;
  int most_alike_;
  std::optional<Image> kappa_file_, anatomy_file_;
  std::shared_ptr<const Image> kappa_;
  std::shared_ptr<const Image> anatomy_;  // where it chooses no neighbours
  std::shared_ptr<const ChosenNeighbours> chosen_;
  std::optional<Grid> grid_;  // that kappa, anatomy and choice are for
  bool is_on_host_ = true;
};

/// A prior's memory: it gives a gradient for each estimate.
inline MemoryNeed prior_memory(std::span<const std::size_t> inputs) {
  return {.message_bytes = inputs[0],
          .lies_with_inputs = true,
          .lower = "image.size",
          .note = "kappa and a choice of neighbours are an image more each"};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
