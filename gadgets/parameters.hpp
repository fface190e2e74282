// Parameters that several gadgets declare alike, so that a top-level key of a pipeline sets them
// all.
#pragma once

#include <array>
#include <cstddef>

#include "core/memory.hpp"
#include "core/params.hpp"
#include "kernels/blob/blob.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/memory.hpp"

namespace tofstream {

/// `backend: auto | cpu | cuda`
enum class BackendChoice { automatic, cpu, cuda };
constexpr auto enum_names(BackendChoice) {
  return names(BackendChoice::automatic, "auto", BackendChoice::cpu, "cpu", BackendChoice::cuda, "cuda");
}

/// The backend to use: auto is CUDA where there is a device. Throws std::runtime_error where cuda
/// is asked for in vain.
inline Backend resolve(BackendChoice choice) {
  if (choice == BackendChoice::cuda) require_cuda();
  const bool cuda = choice == BackendChoice::cuda || (choice == BackendChoice::automatic && why_no_cuda().empty());
  return cuda ? Backend::cuda : Backend::cpu;
}

/// As resolve, before anything starts: what is asked for counts, also where there is no device.
inline bool wants_cuda(BackendChoice choice) {
  return choice == BackendChoice::cuda || (choice == BackendChoice::automatic && why_no_cuda().empty());
}

/// What a gadget needs for `held` bytes of images and gives in messages of `given`, in its backend's memory.
inline MemoryNeed image_memory(BackendChoice backend, std::size_t held, std::size_t given, const char* lower) {
  const bool device = wants_cuda(backend);
  return {.host_bytes = device ? 0 : held,
          .device_bytes = device ? held : 0,
          .message_bytes = given,
          .gives_on_device = device,
          .lower = lower};
}

/// Bytes of a batch's event at most: two detectors, the rank of its arrival, ToF and its width, and two corrections.
inline constexpr std::size_t event_bytes = 28;

enum class Basis { voxels, blobs };
constexpr auto enum_names(Basis) {
  return names(Basis::voxels, "voxels", Basis::blobs, "blobs");
}

/// `image: {size: [75, 75, 26], voxel_mm: [4, 4, 4]}`
struct ImageParams {
  std::array<int, 3> size = {75, 75, 26};
  std::array<float, 3> voxel_mm = {4, 4, 4};
  std::array<float, 3> centre_mm = {0, 0, 0};
  Basis basis = Basis::voxels;
  // Those of Philips' clinical reconstruction in paper 000 (share/doc/blobs.md).
  float blob_alpha = 8.3689f;
  float blob_radius_mm = 0;
  static constexpr auto params =
      describe(param<&ImageParams::size>("size", range(1, 4096),
                                         "Voxels along x, y and z; nodes of each of the blobs' two lattices"),
               param<&ImageParams::voxel_mm>("voxel_mm", range(1e-3, 1e3), unit("mm"),
                                             "Edges of a voxel; of a lattice of blobs, which is cubic"),
               param<&ImageParams::centre_mm>("centre_mm", range(-1e4, 1e4), unit("mm"),
                                              "The image's centre in the scanner frame"),
               param<&ImageParams::basis>("basis",
                                          "voxels, or blobs on an even and an odd lattice: blob_projector projects "
                                          "them, blob_to_voxels makes voxels of them"),
               param<&ImageParams::blob_alpha>("blob_alpha", range(0.001, 500),
                                               "Shape of a blob: larger is narrower within its radius"),
               param<&ImageParams::blob_radius_mm>(
                   "blob_radius_mm", range(0, 1e4), unit("mm"),
                   "Radius of a blob; 0: that which makes equal coefficients a uniform density"));

  /// Of one image: 4 bytes a voxel or blob.
  std::size_t bytes() const {
    return sizeof(float) * static_cast<std::size_t>(size[0]) * static_cast<std::size_t>(size[1]) *
           static_cast<std::size_t>(size[2]) * (basis == Basis::blobs ? 2 : 1);
  }
  Grid grid() const {
    Grid grid = Grid::centred(size[0], size[1], size[2], {voxel_mm[0], voxel_mm[1], voxel_mm[2]});
    grid.origin_mm = grid.origin_mm + Vec3{centre_mm[0], centre_mm[1], centre_mm[2]};
    if (basis == Basis::blobs)
      grid.blob = {blob_radius_mm > 0 ? blob_radius_mm : uniform_blob_radius_mm(voxel_mm[0], blob_alpha), blob_alpha};
    return grid;
  }
};

}  // namespace tofstream
