// Times of our EM steps and peers' with random LORs on one backend, and their results against the double-precision
// reference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/project/cuda_path.hpp"
#include "kernels/project/list_mode_projector.hpp"
#include "kernels/types/events.hpp"
#include "tools/bench/peer.hpp"

namespace tofstream::command {

struct ListmodeCase {
  std::string projector;         // joseph, tor
  double tube_width_voxels = 0;  // of the TOR
  std::string workload;          // share/benchmarks/README.md
  std::int64_t events = 0;
  double bin_sigma = 0;  // width of the ToF bins in sigma; 0: unbinned (1 mm)
};

/// Events with ToF, in the order in which they are drawn unless stated otherwise. Times are medians in ms.
class ListmodeTiming {
 public:
  /// `wrong`: share by which the sums are made too large, to test that this is noticed.
  ListmodeTiming(Backend backend, int repeats, double wrong = 0)
      : backend_(backend), repeats_(repeats), wrong_(wrong) {}

  /// An EM step with its plan already made, of events in random order, or partitioned and sorted.
  enum class Order { random, sorted };
  double pass_ms(const ListmodeCase& c, Order order = Order::random, bool deterministic = false);
  /// An EM step that plans first.
  double first_pass_ms(const ListmodeCase& c);
  double plan_ms(const ListmodeCase& c);
  /// A forward or a back projection with its plan already made, or without a plan, of values uniform in [low, 1.5).
  enum class Plan { made, none };
  double forward_ms(const ListmodeCase& c, Plan plan = Plan::made);
  double back_ms(const ListmodeCase& c, float low = 0.5f, Plan plan = Plan::made);
  /// Whether that many first passes of deterministic projectors give the same sums bit for bit.
  bool identical(const ListmodeCase& c, int runs);
  /// |<A x, y> - <x, A^T y>| / <A x, y> for x and y uniform in [0.5, 1.5), on a GPU by this path.
  double adjointness(const ListmodeCase& c, CudaPath path);
  /// An EM step's sums against the double-precision reference's (bench_projecting.hpp: touched_nrms), for as many
  /// events as that takes in some seconds, by the path that all events take. Measured once for each projector, workload
  /// and setting.
  struct Agreement {
    double nrms;
    std::int64_t events;
  };
  Agreement agreement(const ListmodeCase& c, bool deterministic);
  /// The same for planned projections of a positive image and of values of either sign.
  Agreement forward_agreement(const ListmodeCase& c) { return projections_agreement(c).forward; }
  Agreement back_agreement(const ListmodeCase& c) { return projections_agreement(c).back; }

  struct PeerTimes {
    double forward_ms, back_ms;
    std::optional<double> em_step_ms;  // where the peer does both at once
    double deviation;      // RMS of its forward projection of a smooth image from Joseph's with libparallelproj's edge
                           // rule, relative to the latter
    double inconsistency;  // of its own parts: the larger of |<x, A^T A x> / <A x, A x> - 1| for an image x > 0 and,
                           // with an EM step, |<x, A^T (1 / A x)> / n - 1| for the n events with A x > 0
    /// The faster of the two, without the ratio if it is forward and back projection.
    double ms() const { return std::min(forward_ms + back_ms, em_step_ms.value_or(forward_ms + back_ms)); }
  };
  /// A peer with the same events.
  PeerTimes peer(const ListmodeCase& c, Peer& peer, Order order);

 private:
  EventView here(const ListmodeCase& c);
  EventView there(const ListmodeCase& c);
  EventBatch sorted(const ListmodeCase& c) const;
  void draw(const ListmodeCase& c);
  std::unique_ptr<ListModeProjector> make(const ListmodeCase& c, CudaPath path, bool deterministic) const;
  /// With the case's ToF bins.
  static EventView binned(const ListmodeCase& c, EventView events);
  double em_step_ms(const ListmodeCase& c, const EventView& events, bool deterministic);
  std::int64_t checkable(const ListmodeCase& c) const;
  struct ProjectionsAgreement {
    Agreement forward, back;
  };
  ProjectionsAgreement projections_agreement(const ListmodeCase& c);

  Backend backend_;
  int repeats_;
  double wrong_;
  std::string workload_;  // whose events are held, on the host and where they are projected
  EventBatch here_, there_;
  std::map<std::string, Agreement> agreements_;
  std::map<std::string, ProjectionsAgreement> projections_agreements_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
