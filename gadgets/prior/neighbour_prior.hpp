// A prior of pairs of neighbours as a gadget. `P`: parameters that derive from NeighbourPriorParams, with
// `potential()`.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "core/gadget.hpp"
#include "gadgets/penalty.hpp"
#include "gadgets/prior/prior_images.hpp"

namespace tofstream {

template <class P>
struct NeighbourPriorGadget {
  using Params = P;
  static constexpr auto params = P::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) { return prior_memory(inputs); }

  explicit NeighbourPriorGadget(const Params& p) : images_(p.kappa, p.anatomy, p.most_alike) {
    PriorSettings settings;
    settings.neighbours = p.neighbours;
    settings.border = p.border;
    neighbour_prior(p.potential(), settings);  // says at once what cannot be
    if (!p.anatomy.empty() && p.border == Border::replicate)
      throw std::invalid_argument("neighbours that are chosen lie inside the image: leave border at exclude");
  }

  void process(PriorInput input, Emit<Penalty>& emit, const Params& p) {
    emit(penalty_on(*input.estimate, [&](const Image& image) {
      PriorSettings settings = images_.settings(p.beta, image);
      settings.neighbours = p.neighbours;
      settings.border = p.border;
      return neighbour_prior(p.potential(), settings);
    }));
  }

 private:
  PriorImages images_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
