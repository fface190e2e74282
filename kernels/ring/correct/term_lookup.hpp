// The terms of one event from tables, for the CPU and a CUDA device. Internal to event_terms.hpp, which gives the
// equations.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/math/host_device.hpp"
#include "kernels/ring/correct/scatter-inl.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::detail {

/// What the terms of a batch are looked up in: pointers into the memory in which the events lie, passed by value.
struct TermLookup {
  EventView events;
  bool has_scanner = false;  // else every efficiency is 1
  PairView pairs;
  double exposure = 1, reference_s = 1;
  const float* live = nullptr;  // of pairs of modules, as LivePattern::factor; null: 1
  bool of_bins = true;
  double window_mm = 0;            // of coincidences, where terms are of ToF bins
  const float* randoms = nullptr;  // of each detector, as RandomsModel::factor; null: none
  double randoms_scale = 1;
  bool randoms_lost = false;  // the randoms' rate is to be multiplied with the live fraction's pattern
  bool has_scatter = false;
  ScatterView scatter;

  TOFSTREAM_HOST_DEVICE double efficiency(std::int64_t i) const {
    return has_scanner ? static_cast<double>(efficiency_of(pairs, events.detector1[i], events.detector2[i])) : 1.0;
  }

  /// The factor of event i's pair of modules.
  TOFSTREAM_HOST_DEVICE double live_of(std::int64_t i) const {
    if (!live || !has_scanner) return 1;
    const std::size_t row = pairs.module_of(events.detector1[i]);
    return static_cast<double>(live[row * pairs.module_count + pairs.module_of(events.detector2[i])]);
  }

  /// e_ij l_ij a exposure of event i whose attenuation is `survival`.
  TOFSTREAM_HOST_DEVICE float multiplicative(std::int64_t i, float survival) const {
    return static_cast<float>(efficiency(i) * live_of(i) * static_cast<double>(survival) * exposure);
  }

  /// The term that event i has, and c / m, where its m is events.multiplicative[i]; infinite where m is 0.
  TOFSTREAM_HOST_DEVICE float additive(std::int64_t i) const {
    const double m = static_cast<double>(events.multiplicative[i]);
    constexpr float infinite = std::numeric_limits<float>::infinity();
    if (!(m > 0)) return infinite;
    const double width_mm = of_bins ? static_cast<double>(events.bin_width_mm(i)) : 1.0;
    double c = 0;
    if (randoms) {
      const double rate = static_cast<double>(randoms[events.detector1[i]] * randoms[events.detector2[i]]);
      c += randoms_scale * rate * (randoms_lost ? live_of(i) : 1.0) * (of_bins ? width_mm / window_mm : 1.0);
    }
    if (has_scatter)
      c += static_cast<double>(scatter_at(scatter, sinogram_place(events.lor(i)))) * width_mm * efficiency(i) *
           live_of(i) * exposure;
    const float before = events.additive ? events.additive[i] : 0.0f;
    return before + static_cast<float>(reference_s * c / m);
  }
};

/// multiplicative[i] <- the multiplicative term of each event, where multiplicative[i] was its attenuation.
void look_up_multiplicative(const TermLookup& lookup, float* multiplicative, Memory memory, Stream stream);
void look_up_multiplicative_cuda(const TermLookup& lookup, float* multiplicative, Stream stream);
/// additive[i] <- the additive term of each event, with what it has of one.
void look_up_additive(const TermLookup& lookup, float* additive, Memory memory, Stream stream);
void look_up_additive_cuda(const TermLookup& lookup, float* additive, Stream stream);
/// Sets `count` values to 1.
void fill_ones(float* values, std::int64_t count, Memory memory, Stream stream);
void fill_ones_cuda(float* values, std::int64_t count, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
