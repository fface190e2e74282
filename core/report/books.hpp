// Settles the books of a run: every event received was reconstructed or written, rejected for a
// reason, lost, or discarded with a message that an edge dropped.
#pragma once
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"

namespace tofstream {

// `gadgets` and `edges` are in the pipeline's order.
//
// Only the way from a source to a gadget that settles events (books them as reconstructed or
// written) counts; a side branch such as a monitor is free to reject what it likes. If a stream is
// copied to several settling gadgets, the books must balance on each copy; if it is split over
// several outputs, in sum. A gadget that gives events, takes none and booked none as received is
// assumed to have received what it gave, rejected and lost.
BookBalance settle_books(const Pipeline& pipeline, const std::vector<GadgetReport>& gadgets,
                         const std::vector<EdgeReport>& edges);

// Events that one gadget received from outside, by the same rule. Of `report` the books and events_out are read.
std::uint64_t events_received(const GadgetInfo& info, const GadgetReport& report);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
