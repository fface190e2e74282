// A CPU peer of `tofstream-bench spect` with the interface of spect_peer.h: columns along z, interpolated at a view's
// points, summed over planes that all have the first one's point spread, and blurred. The build sets its name
// and the interface's version, so that a wrong one can be tested.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "share/benchmarks/peers/spect_peer.h"

namespace {

int size, reach;
std::vector<float> angles, psf, columns, counts;  // columns [y][x][z], counts [view][u][w]

const char* prepare(const tofstream_spect_peer_scan* scan) {
  size = scan->size;
  reach = scan->psf_size / 2;
  angles.assign(scan->angles_deg, scan->angles_deg + scan->views);
  const auto kernel = static_cast<std::ptrdiff_t>(scan->psf_size) * scan->psf_size;
  psf.assign(scan->psf, scan->psf + kernel);
  for (int plane = 0; plane < size; ++plane)
    if (!std::equal(psf.begin(), psf.end(), scan->psf + plane * kernel)) return "planes have several point spreads";
  columns.assign(static_cast<std::size_t>(size) * static_cast<std::size_t>(size * size), 0.0f);
  counts.assign(static_cast<std::size_t>(scan->views) * static_cast<std::size_t>(size * size), 0.0f);
  return nullptr;
}

std::size_t at(int slow, int middle, int fast) {
  return (static_cast<std::size_t>(slow) * static_cast<std::size_t>(size) + static_cast<std::size_t>(middle)) *
             static_cast<std::size_t>(size) +
         static_cast<std::size_t>(fast);
}

// Calls use(inside, outside) for each number of an image or of views and its place here.
template <class Use>
void for_each_voxel(const Use& use) {
  for (int z = 0; z < size; ++z)
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) use(at(y, x, z), at(z, y, x));
}
template <class Use>
void for_each_pixel(const Use& use) {
  for (int v = 0; v < static_cast<int>(angles.size()); ++v)
    for (int w = 0; w < size; ++w)
      for (int u = 0; u < size; ++u) use(at(v, u, w), at(v, w, u));
}

const char* set_image(const float* image) {
  for_each_voxel([&](std::size_t inside, std::size_t outside) { columns[inside] = image[outside]; });
  return nullptr;
}
const char* get_image(float* image) {
  for_each_voxel([&](std::size_t inside, std::size_t outside) { image[outside] = columns[inside]; });
  return nullptr;
}
const char* set_views(const float* views) {
  for_each_pixel([&](std::size_t inside, std::size_t outside) { counts[inside] = views[outside]; });
  return nullptr;
}
const char* get_views(float* views) {
  for_each_pixel([&](std::size_t inside, std::size_t outside) { views[outside] = counts[inside]; });
  return nullptr;
}

// Calls use(column of the image, weight) for those about the points of all planes of a view's column.
template <class Use>
void walk(float angle_deg, int u, const Use& use) {
  const double t = static_cast<double>(angle_deg) * std::numbers::pi / 180, middle = 0.5 * (size - 1);
  for (int plane = 0; plane < size; ++plane) {
    const double n = middle - plane, x = middle - (u - middle) * std::cos(t) + n * std::sin(t),
                 y = middle + (u - middle) * std::sin(t) + n * std::cos(t);
    const int i = static_cast<int>(std::floor(x)), j = static_cast<int>(std::floor(y));
    for (int b = j; b <= j + 1; ++b)
      for (int a = i; a <= i + 1; ++a)
        if (a >= 0 && b >= 0 && a < size && b < size)
          use(at(b, a, 0), static_cast<float>((1 - std::abs(x - a)) * (1 - std::abs(y - b))));
  }
}

void add(float* sum, const float* values, float weight) {
  for (int k = 0; k < size; ++k) sum[k] += weight * values[k];
}

// A view [u][w], blurred.
std::vector<float> blurred(const float* view) {
  std::vector<float> result(at(1, 0, 0), 0.0f);
  const int edge = 2 * reach + 1;
  for (int u = 0; u < size; ++u)
    for (int from = std::max(0, u - reach); from <= std::min(size - 1, u + reach); ++from)
      for (int j = -reach; j <= reach; ++j) {
        const float weight = psf[static_cast<std::size_t>((j + reach) * edge + u - from + reach)];
        for (int w = std::max(0, j); w < std::min(size, size + j); ++w)
          result[at(0, u, w)] += weight * view[at(0, from, w - j)];
      }
  return result;
}

const char* forward() {
  for (std::size_t v = 0; v < angles.size(); ++v) {
    std::vector<float> view(at(1, 0, 0), 0.0f);
    for (int u = 0; u < size; ++u)
      walk(angles[v], u, [&](std::size_t column, float weight) { add(&view[at(0, u, 0)], &columns[column], weight); });
    std::ranges::copy(blurred(view.data()),
                      counts.begin() + static_cast<std::ptrdiff_t>(at(static_cast<int>(v), 0, 0)));
  }
  return nullptr;
}

const char* back() {
  std::ranges::fill(columns, 0.0f);
  for (std::size_t v = 0; v < angles.size(); ++v) {
    const std::vector<float> view = blurred(&counts[at(static_cast<int>(v), 0, 0)]);  // the kernel is symmetric
    for (int u = 0; u < size; ++u)
      walk(angles[v], u, [&](std::size_t column, float weight) { add(&columns[column], &view[at(0, u, 0)], weight); });
  }
  return nullptr;
}

}  // namespace

extern "C" const tofstream_spect_peer* tofstream_spect_peer_get() {
  static const tofstream_spect_peer peer{PEER_INTERFACE, 0,         PEER_NAME, "1.0",   prepare, set_image,
                                         get_image,      set_views, get_views, forward, back};
  return &peer;
}
// SPDX-License-Identifier: Apache-2.0
