// A peer for SPECT: see spect_peer.hpp.
#include "tools/bench/spect_peer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/spect/lattice.hpp"
#include "kernels/spect/plane_kernels.hpp"
#include "tools/bench/bench_projecting.hpp"

namespace tofstream::command {

namespace {

constexpr const char* spect_entry = "tofstream_spect_peer_get";

[[noreturn]] void refuse_spect_peer(const std::string& path, const std::string& why) {
  throw std::runtime_error(fmt::format("cannot use {} as a peer: {}", path, why));
}

SharedLibrary load_spect_peer(const std::string& path) {
  try {
    return SharedLibrary(path);
  } catch (const std::exception& error) {
    refuse_spect_peer(path, error.what());
  }
}

const tofstream_spect_peer* spect_table_of(const SharedLibrary& library, const std::string& path, Backend backend) {
  if (!library.has(spect_entry))
    refuse_spect_peer(path, fmt::format("it has no {} (share/benchmarks/peers/spect_peer.h)", spect_entry));
  const tofstream_spect_peer* table = library.function<const tofstream_spect_peer*()>(spect_entry)();
  if (!table) refuse_spect_peer(path, "it gives no table of functions");
  if (table->interface_version != TOFSTREAM_SPECT_PEER_INTERFACE)
    refuse_spect_peer(path,
                      fmt::format("it was built for version {} of spect_peer.h, this is version {}: build it again",
                                  table->interface_version, TOFSTREAM_SPECT_PEER_INTERFACE));
  if ((table->cuda != 0) != (backend == Backend::cuda))
    refuse_spect_peer(path, table->cuda != 0 ? "it projects on a GPU: give --backend cuda"
                                             : "it projects on the CPU: give --backend cpu");
  return table;
}

/// Kernels of the planes of a cube that lies in the middle of the lattice, all as large as the largest.
PlaneKernel cube_kernels(const ViewLattice& lattice, const SpectSettings& settings, int size, double radius_mm) {
  const std::vector<PlaneKernel> kernels = plane_kernels(lattice, settings, radius_mm);
  const int before = (lattice.planes - size) / 2;
  const auto at = [&](int plane) { return kernels[static_cast<std::size_t>(before + plane)]; };
  int edge = 1;
  for (int k = 0; k < size; ++k) edge = std::max({edge, at(k).across, at(k).along});
  PlaneKernel all{edge, edge, std::vector<float>(static_cast<std::size_t>(size * edge * edge), 0.0f)};
  for (int k = 0; k < size; ++k) {
    const PlaneKernel kernel = at(k);
    const int margin_u = (edge - kernel.across) / 2, margin_w = (edge - kernel.along) / 2;
    for (int w = 0; w < kernel.along; ++w)
      for (int u = 0; u < kernel.across; ++u)
        all.values[static_cast<std::size_t>((k * edge + margin_w + w) * edge + margin_u + u)] =
            kernel.values[static_cast<std::size_t>(w * kernel.across + u)];
  }
  return all;
}

/// RMS of the difference over the range of what is expected, where `counts(i)`.
template <class Counts>
double nrms_where(const std::vector<float>& found, const std::vector<float>& expected, const Counts& counts) {
  double sum = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!counts(i)) continue;
    const double value = static_cast<double>(expected[i]), difference = static_cast<double>(found[i]) - value;
    sum += difference * difference;
    low = std::min(low, value);
    high = std::max(high, value);
    ++compared;
  }
  return std::sqrt(sum / static_cast<double>(compared)) / (high - low);
}

}  // namespace

SpectPeer::SpectPeer(const std::string& path, Backend backend)
    : library_(load_spect_peer(path)), peer_(spect_table_of(library_, path, backend)) {}

void SpectPeer::prepare(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  const int size = grid.size[0];
  const Vec3 width = {grid.voxel_mm.x, grid.voxel_mm.x, grid.voxel_mm.x};
  const ViewLattice lattice = lattice_of(grid, set, settings);
  const std::vector<double> radii = radii_of(set);
  if (!(grid == Grid::centred(size, size, size, width)) || set.size[0] != size || set.size[1] != size ||
      !(set.pixel_mm == width) || lattice.planes < size || (lattice.planes - size) % 2 != 0 || radii.size() != 1 ||
      settings.beam != Beam::parallel || settings.mu_per_mm)
    throw std::runtime_error(
        fmt::format("{} takes a cube of voxels as wide as pixels, on one radius, without "
                    "attenuation",
                    name()));
  std::vector<float> angles;
  for (const ViewPlace& place : set.places) angles.push_back(place.angle_deg);
  const PlaneKernel kernels = cube_kernels(lattice, settings, size, radii.front());
  const tofstream_spect_peer_scan scan{size,          width.x,        static_cast<std::int32_t>(angles.size()),
                                       angles.data(), kernels.across, kernels.values.data()};
  check(peer_->prepare(&scan));
  voxels_ = static_cast<std::size_t>(grid.voxels());
  pixels_ = static_cast<std::size_t>(set.pixels()) * angles.size();
  cell_mL_ = lattice.volume_mL;
}

void SpectPeer::set_image(const Image& image) {
  check(peer_->set_image(image.voxels.data()));
}

void SpectPeer::set_views(const std::vector<float>& views) {
  check(peer_->set_views(views.data()));
}

std::vector<float> SpectPeer::image() const {
  return result(peer_->get_image, voxels_);
}

std::vector<float> SpectPeer::views() const {
  return result(peer_->get_views, pixels_);
}

std::vector<float> SpectPeer::result(const char* (*get)(float*), std::size_t count) const {
  std::vector<float> values(count);
  check(get(values.data()));
  for (float& value : values) value *= static_cast<float>(cell_mL_);
  return values;
}

void SpectPeer::check(const char* error) const {
  if (error) throw std::runtime_error(fmt::format("{}: {}", peer_->name, error));
}

SpectPeerResult measure_beside(SpectPeer& peer, ViewProjector& ours, const Views& views, const SpectSettings& settings,
                               const Image& image, int repeats) {
  const Memory memory = memory_of(ours.backend());
  Buffer<float> expectation(memory, views.count);
  Image sum = Image::zeros(ours.grid(), memory);
  const Image there = image.to(memory);
  ours.forward(views, there.voxels.data(), expectation.data());
  ours.back(views, expectation.data(), sum.voxels.data());
  const std::vector<float> our_views = expectation.to_vector(), our_image = sum.voxels.to_vector();

  peer.prepare(ours.grid(), *views.set, settings);
  peer.set_image(image);
  SpectPeerResult result;
  result.forward_ms = median_ms(Backend::cpu, repeats, [&] { peer.forward(); });
  result.forward_nrms = nrms_where(peer.views(), our_views, [](std::size_t) { return true; });
  peer.set_views(our_views);
  result.back_ms = median_ms(Backend::cpu, repeats, [&] { peer.back(); });
  const Image support = ours.support();
  result.back_nrms = nrms_where(peer.image(), our_image,
                                [&](std::size_t i) { return support.voxels[static_cast<std::int64_t>(i)] > 0; });
  return result;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
