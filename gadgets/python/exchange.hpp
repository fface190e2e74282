// Batches, views and estimates as a Python process is told of them: a header in JSON, arrays as places in shared memory, and
// back, with every value checked that a kernel relies on.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "gadgets/payloads.hpp"
#include "gadgets/python/session.hpp"
#include "gadgets/views.hpp"

namespace tofstream {

/// A payload on its way to Python.
struct Offer {
  PythonJson header;
  Lease lease;
};

/// What a gadget remembers of its last input, since what Python gives belongs to the same scanner and update.
struct ExchangeMemory {
  std::shared_ptr<const DetectorTable> detectors;
  std::shared_ptr<const Scanner> scanner;
  TofModel tof;
  double exposure = 1;
  std::shared_ptr<const LivePattern> live;
  std::shared_ptr<const RigidPose> pose;
  bool delayed = false;
  std::shared_ptr<const Quantity> events_quantity, image_quantity;  // of what Python took last, and so of what it gives
  PostFilters filters;                    // as the estimate had that Python took last, and so has what it gives
  std::vector<AppliedOperator> through;   // likewise
  Modality modality = Modality::unknown;  // of both
  std::int64_t axis_begin[4] = {};
  std::shared_ptr<const SharedBlock> positions;  // the table of `detectors` in shared memory
  std::shared_ptr<const SharedBlock> pairs;      // of a source: which modules of `scanner` are in coincidence
  std::shared_ptr<const ViewSet> views_set;      // of the views that Python took last
  std::shared_ptr<const ViewSet> given_set;      // of those that it gave last of a plan of its own
  std::shared_ptr<const Quantity> views_quantity;
  double reference_s = 1;
  UpdateStep step{.iteration = 1, .iterations = 1, .subset = 0, .subsets = 1, .ends_iteration = true, .last = false};
};

/// Arrays that lie in shared memory are offered where they are; the others are copied into one block.
Offer offer(const std::shared_ptr<const EventBatch>& batch, SharedArena& arena, ExchangeMemory& memory);
Offer offer(const std::shared_ptr<const Estimate>& estimate, SharedArena& arena, ExchangeMemory& memory);
Offer offer(const std::shared_ptr<const ViewBatch>& views, SharedArena& arena, ExchangeMemory& memory);

/// The detectors' positions as Python is told of them, in shared memory once a table.
PythonJson positions_of(const DetectorTable& table, SharedArena& arena, ExchangeMemory& memory);

/// A payload from Python, without a copy.
template <class T>
struct Accepted {
  T payload;
  bool is_shared = false;  // it lies in an input that others may read: nobody may write to it
};

/// Throws std::runtime_error that begins with where the gadget is defined, when an array has the wrong length, a
/// detector or view does not exist, a value is NaN or infinite, or a count is negative.
Accepted<EventBatch> accept(const PythonJson& header, PythonSession& session, ExchangeMemory& memory,
                            std::type_identity<EventBatch>);
Accepted<Estimate> accept(const PythonJson& header, PythonSession& session, ExchangeMemory& memory,
                          std::type_identity<Estimate>);
Accepted<ViewBatch> accept(const PythonJson& header, PythonSession& session, ExchangeMemory& memory,
                           std::type_identity<ViewBatch>);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
