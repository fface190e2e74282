// Parameters that several gadgets declare alike, so that a top-level key of a pipeline sets them
// all.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "core/gadget/memory.hpp"
#include "core/value/params.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/memory/device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream {

/// `backend: auto | cpu | cuda`
enum class BackendChoice { automatic, cpu, cuda };
constexpr auto enum_names(BackendChoice) {
  return names(BackendChoice::automatic, "auto", BackendChoice::cpu, "cpu", BackendChoice::cuda, "cuda");
}

/// Marks a folder in which a gadget keeps what memory does not hold.
inline constexpr auto spilling_is_operators =
    operators_alone("the operator decides where a run puts what memory does not hold");

/// The backend to use: auto is CUDA where there is a device. Throws std::runtime_error if cuda is asked for and there
/// is none.
inline Backend resolve(BackendChoice choice) {
  if (choice == BackendChoice::cuda) require_cuda();
  const bool cuda = choice == BackendChoice::cuda || (choice == BackendChoice::automatic && why_no_cuda().empty());
  return cuda ? Backend::cuda : Backend::cpu;
}

/// Where a gadget works. `cuda` without a GPU throws at once; `auto` looks for a GPU when the backend is first asked
/// for. Looking and setting the GPU up takes some tenths of a second, in which other gadgets begin to read and decode.
class GadgetBackend {
 public:
  GadgetBackend(BackendChoice choice) : choice_(choice) {
    if (choice == BackendChoice::cuda) require_cuda();
    if (choice != BackendChoice::cpu) set_up_ = set_up_device_ahead();
  }
  operator Backend() const { return resolve(choice_); }

 private:
  BackendChoice choice_;
  std::shared_ptr<const DeviceSetUp> set_up_;
};

/// Like resolve, but before anything starts: takes what is asked for, even where there is no device.
inline bool wants_cuda(BackendChoice choice) {
  return choice == BackendChoice::cuda || (choice == BackendChoice::automatic && why_no_cuda().empty());
}

/// The memory need of a gadget that holds `held` bytes of images and gives messages of `given` bytes, in its backend's
/// memory.
inline MemoryNeed image_memory(BackendChoice backend, std::size_t held, std::size_t given, const char* lower) {
  const bool device = wants_cuda(backend);
  return {.host_bytes = device ? 0 : held,
          .device_bytes = device ? held : 0,
          .message_bytes = given,
          .gives_on_device = device,
          .lower = lower};
}

/// Most bytes of an event in a batch: two detectors, the rank of its arrival, ToF and its width, and two corrections.
inline constexpr std::size_t event_bytes = 28;

enum class Basis { voxels, blobs };
constexpr auto enum_names(Basis) {
  return names(Basis::voxels, "voxels", Basis::blobs, "blobs");
}

/// `image: auto`, `image: {voxel_mm: 2}`, `image: {size: [75, 75, 26], voxel_mm: [4, 4, 4]}`
struct ImageParams {
  std::optional<std::array<int, 3>> size;
  std::optional<std::array<float, 3>> voxel_mm;
  std::optional<std::array<float, 3>> centre_mm;
  Basis basis = Basis::voxels;
  // Those of Philips' clinical reconstruction in Cui et al. 2011 (share/doc/blobs.md).
  float blob_alpha = 8.3689f;
  float blob_radius_mm = 0;
  bool operator==(const ImageParams&) const = default;
  static constexpr auto default_word = "auto";
  static constexpr auto params = describe(
      param<&ImageParams::size>("size", range(1, 4096),
                                "Voxels along x, y and z, or nodes of each of the blobs' two lattices; none: "
                                "as many as hold the scanner's field of view"),
      param<&ImageParams::voxel_mm>("voxel_mm", one_for_all, range(1e-3, 1e3), unit("mm"),
                                    "Edges of a voxel, or of a lattice of blobs, which is cubic; none: half the width "
                                    "of the scanner's crystals (for blobs the whole width), or 4 mm if size is given"),
      param<&ImageParams::centre_mm>("centre_mm", range(-1e4, 1e4), unit("mm"),
                                     "The image's centre in the scanner frame; none: that of the field of "
                                     "view, or the origin where size is given"),
      param<&ImageParams::basis>("basis",
                                 "voxels, or blobs on an even and an odd lattice: blob_projector projects "
                                 "them, blob_to_voxels makes voxels of them"),
      param<&ImageParams::blob_alpha>("blob_alpha", range(0.001, 500),
                                      "Shape of a blob: larger is narrower within its radius"),
      param<&ImageParams::blob_radius_mm>(
          "blob_radius_mm", range(0, 1e4), unit("mm"),
          "Radius of a blob; 0: the one with which equal coefficients give a uniform density"));

  /// The scanner decides the grid.
  bool is_auto() const { return !size; }
  /// Bytes of one image: 4 a voxel or blob; where the scanner decides, the bytes of the largest that may be chosen.
  std::size_t bytes() const {
    if (is_auto()) return sizeof(float) * static_cast<std::size_t>(most_chosen_voxels);
    return sizeof(float) * static_cast<std::size_t>((*size)[0]) * static_cast<std::size_t>((*size)[1]) *
           static_cast<std::size_t>((*size)[2]) * (basis == Basis::blobs ? 2 : 1);
  }
  GridWish wish() const {
    const auto vec3 = [](const std::array<float, 3>& v) { return Vec3{v[0], v[1], v[2]}; };
    GridWish wish{.blobs = basis == Basis::blobs, .blob_alpha = blob_alpha, .blob_radius_mm = blob_radius_mm};
    if (voxel_mm) wish.voxel_mm = vec3(*voxel_mm);
    if (centre_mm) wish.centre_mm = vec3(*centre_mm);
    return wish;
  }
  /// The grid as given, or the one chosen for the scanner, which may be null if is_auto() is false. Throws as
  /// choose_grid does.
  Grid grid(const Scanner* scanner = nullptr) const {
    const GridWish wished = wish();
    if (is_auto()) return choose_grid(*scanner, wished);
    const Vec3 voxel = wished.voxel_mm.value_or(Vec3{4, 4, 4});
    return grid_about(*size, voxel, wished.centre_mm.value_or(Vec3{}),
                      wished.blobs ? blob_of(wished, voxel.x) : Blob{});
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
