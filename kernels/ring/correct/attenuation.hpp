// Attenuation factors of events: exp(-integral of mu along the line of response), by Joseph's projector on the mu map's
// own grid, from detector to detector.
#pragma once

#include <memory>

#include "kernels/ring/joseph/line_integrals.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// What attenuates photons: maps of linear attenuation (1/mm) on any grids, on the host; null: none.
struct MuMaps {
  const Image* object = nullptr;
  const Image* hardware = nullptr;  // what stays with the scanner where the object moves: a coil, a table

  MuMaps(const Image* object_map = nullptr, const Image* hardware_map = nullptr)
      : object(object_map), hardware(hardware_map) {}
  bool any() const { return object || hardware; }
};

class Attenuation {
 public:
  /// `mu_per_mm`: linear attenuation (1/mm) on any grid, on the host; outside it nothing attenuates. Throws
  /// std::invalid_argument for a bad grid or a value that is negative or not finite, std::runtime_error for a missing
  /// GPU.
  Attenuation(const Image& mu_per_mm, Backend backend);

  Backend backend() const { return integrals_->backend(); }
  /// factors[i] *= exp(-integral of mu along event i's line), whatever its ToF. Events and factors (events.count
  /// floats) lie in the backend's memory; queued on the stream.
  void apply(EventView events, float* factors, Stream stream = nullptr) const;

 private:
  std::unique_ptr<const LineIntegrals> integrals_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
