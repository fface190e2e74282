// m_v of histo-images: see histo_terms.hpp.
#include "gadgets/direct/histo_terms.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/step/projector_kinds.hpp"
#include "kernels/direct/histo_sensitivity.hpp"

namespace tofstream {
namespace {

void require_lines_in_all_views(const DirectViews& views, const Buffer<float>& terms) {
  const auto points = static_cast<std::size_t>(terms.size() / views.count());
  for (int v = 0; v < views.count(); ++v) {
    const auto of_view = terms.span().subspan(static_cast<std::size_t>(v) * points, points);
    if (std::ranges::any_of(of_view, [](float term) { return term > 0; })) continue;
    throw std::invalid_argument(
        fmt::format("acceptance_deg: no line of the scanner is in the view at an azimuth of {:g} and a tilt of {:g} "
                    "degrees: lower acceptance_deg, or take fewer views",
                    static_cast<float>(views.azimuth_deg(v)), static_cast<float>(views.tilt_deg(v))));
  }
}

}  // namespace

HistoTerms histo_terms(const Grid& grid, const DirectViews& views, HistoLattice lattice, const Scanner& scanner,
                       const ScannerLinesSettings& settings, Context& context) {
  HistoSensitivity sensitivity(grid, views, lattice);
  const auto& joseph = table_of<ProjectorKind>().at("joseph_projector");
  const auto projector =
      joseph.make(joseph.default_params().get(), sensitivity.lattice_grid(), Backend::cpu, scanner, context);
  HistoTerms made{.values = Buffer<float>::zeros(Memory::host, sensitivity.points()), .lines = {}};
  const auto lay_down = [&](const EventView& lines, const float* values, double done) {
    if (context.cancelled()) throw std::runtime_error("the run is being ended: the sensitivity is not computed");
    made.accepted += sensitivity.add(lines, values, *projector, made.values.data());
    context.progress(done, 1, "of the sensitivity");
  };
  made.lines = lines_of(scanner).visit(scanner, sensitivity.box(), settings, lay_down);
  require_lines_in_all_views(views, made.values);
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
