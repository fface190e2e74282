// What ranks that are other processes are sent of a reconstruction: grids, what a projector must know of a scanner or a
// camera, and batches of events or views. Whatever is read is checked, so that no kernel meets an index beyond a table.
// Each reader throws std::runtime_error or std::invalid_argument.
#pragma once

#include <memory>

#include "gadgets/io/wire/packed.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"
#include "kernels/types/views.hpp"

namespace tofstream::wire {

/// A grid that is read is one that projectors take, with a finite origin.
void pack(PackWriter& to, const Grid& grid);
Grid unpack_grid(PackReader& from);

/// The detectors' positions.
void pack(PackWriter& to, const DetectorTable& table);
std::shared_ptr<const DetectorTable> unpack_detectors(PackReader& from);

/// On the host. An image that is read has finite voxels.
void pack(PackWriter& to, const Image& image);
Image unpack_image(PackReader& from);

/// What a projector is made for: name, detectors, types of modules and ToF. A scanner whose recorded lines are spread
/// has ReceivedLines (packed_lines.hpp) then.
void pack(PackWriter& to, const Scanner& scanner);
std::shared_ptr<const Scanner> unpack_scanner(PackReader& from);
/// The same, and what a sensitivity by pairs reads beside: efficiencies, live fractions and poses.
void pack_with_efficiencies(PackWriter& to, const Scanner& scanner);
std::shared_ptr<const Scanner> unpack_scanner_with_efficiencies(PackReader& from);

/// What a projector of views is made for.
void pack(PackWriter& to, const ViewSet& set);
std::shared_ptr<const ViewSet> unpack_view_set(PackReader& from);

/// Events on the host: those of their arrays that a projector reads. What many batches share is left to the caller:
/// `detectors` (null for free ends) is the table that the batch was packed with.
void pack(PackWriter& to, const std::shared_ptr<const EventBatch>& batch);
std::shared_ptr<const EventBatch> unpack_events(PackReader& from, std::shared_ptr<const DetectorTable> detectors);

/// Views on the host, of this set.
void pack(PackWriter& to, const std::shared_ptr<const ViewBatch>& batch);
std::shared_ptr<const ViewBatch> unpack_views(PackReader& from, std::shared_ptr<const ViewSet> set);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
