// The hash under which a sensitivity image is kept: see sensitivity.hpp. Each part goes in with its
// length, so that parts cannot run into one another. Large arrays go in as the hashes of their pieces, which all cores
// make: a clinical scanner's efficiencies are some 60 MB, and the first projection waits for this.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sodium.h>
#include <tbb/parallel_for.h>

#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream {

namespace {

constexpr std::string_view algorithm = "tofstream sensitivity 6";  // new number, new results

class Hash {
 public:
  static constexpr std::size_t digest_bytes = crypto_generichash_BYTES;  // 32
  using Digest = std::array<unsigned char, digest_bytes>;

  Hash() { crypto_generichash_init(&state_, nullptr, 0, digest_bytes); }

  template <class T>
  void value(const T& v) {
    static_assert(std::is_arithmetic_v<T>);  // no padding, which would hash as it pleases
    bytes(&v, sizeof v);
  }
  template <class T>
  void array(const T* first, std::uint64_t count) {
    static_assert(std::is_arithmetic_v<T>);
    value(count);
    pieces(reinterpret_cast<const unsigned char*>(first), count * sizeof(T));
  }
  void vec3(Vec3 v) {
    for (int axis = 0; axis < 3; ++axis) value(v[axis]);
  }
  void text(std::string_view words) { array(words.data(), words.size()); }

  std::string hexadecimal() {
    Digest digest;
    crypto_generichash_final(&state_, digest.data(), digest.size());
    char hex[2 * digest_bytes + 1];
    sodium_bin2hex(hex, sizeof hex, digest.data(), digest.size());
    return hex;
  }

 private:
  void bytes(const void* data, std::size_t size) {
    crypto_generichash_update(&state_, static_cast<const unsigned char*>(data), size);
  }
  void pieces(const unsigned char* data, std::size_t size) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    if (size <= piece) return bytes(data, size);
    std::vector<Digest> digests((size + piece - 1) / piece);
    tbb::parallel_for(std::size_t{0}, digests.size(), [&](std::size_t k) {
      crypto_generichash(digests[k].data(), digest_bytes, data + k * piece, std::min(piece, size - k * piece), nullptr,
                         0);
    });
    bytes(digests.data(), digests.size() * sizeof(Digest));
  }
  crypto_generichash_state state_;
};

void add_grid(Hash& hash, const Grid& grid) {
  for (const int n : grid.size) hash.value(n);
  hash.vec3(grid.voxel_mm);
  hash.vec3(grid.origin_mm);
  hash.value(grid.blob.radius_mm);
  hash.value(grid.blob.alpha);
}

void add_map(Hash& hash, const Image& mu) {
  add_grid(hash, mu.grid);
  const auto voxels = mu.voxels.span();
  hash.array(voxels.data(), voxels.size());
}

void add_scanner(Hash& hash, const Scanner& scanner) {
  hash.value(scanner.detectors->size());
  for (std::int64_t d = 0; d < scanner.detectors->size(); ++d)
    hash.vec3(scanner.detectors->position(static_cast<std::uint32_t>(d)));
  hash.value(scanner.types.size());
  for (const ModuleType& type : scanner.types) {
    hash.value(type.modules);
    hash.value(type.elements);
    hash.value(type.energy_bins);
  }
  hash.value(scanner.calibration);
  hash.array(scanner.bin_efficiency.data(), scanner.bin_efficiency.size());
  hash.array(scanner.module_pair.data(), scanner.module_pair.size());
  hash.value(scanner.pair_tables.size());
  for (const ModulePairTable& table : scanner.pair_tables) {
    hash.value(table.columns);
    hash.array(table.values.data(), table.values.size());
  }
  hash.value(scanner.geometric.module_normals.size());
  for (const Vec3& normal : scanner.geometric.module_normals) hash.vec3(normal);
  hash.value(scanner.geometric.elements.size());
  for (const ElementResponse& element : scanner.geometric.elements) {
    hash.value(element.area_mm2);
    hash.value(element.front);
    hash.value(element.back);
  }
  if (scanner.lines) hash.text(scanner.lines->key());
  if (scanner.live) hash.array(scanner.live->factor.data(), scanner.live->factor.size());
  if (!scanner.poses) return;
  for (const PoseShare& each : *scanner.poses) {
    hash.array(each.pose.rotation.data(), each.pose.rotation.size());
    hash.array(each.pose.shift_mm.data(), each.pose.shift_mm.size());
    hash.value(each.share);
  }
}

}  // namespace

std::string sensitivity_key(const Scanner& scanner, const Grid& grid, const std::string& projector_description,
                            const SensitivitySettings& settings, MuMaps mu) {
  scanner.validate();
  Hash hash;
  hash.text(algorithm);
  hash.text(projector_description);
  add_grid(hash, grid);
  add_scanner(hash, scanner);
  hash.value(settings.exact_pairs);
  hash.value(settings.sampled_pairs);
  hash.value(settings.error);
  hash.value(settings.symmetric);
  hash.value(settings.seed);
  hash.value(settings.replicate_pairs);
  hash.value(mu.object != nullptr);
  if (mu.object) add_map(hash, *mu.object);
  if (mu.hardware) {
    hash.text("hardware");
    add_map(hash, *mu.hardware);
  }
  return hash.hexadecimal();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
