// Times of EM steps with random LORs on one backend, and their results against the double-precision reference and
// against libparallelproj.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernels/project/projector.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::command {

struct ListmodeCase {
  std::string projector;         // joseph, tor
  double tube_width_voxels = 0;  // of the TOR
  std::string workload;          // PHYSICS 8
  std::int64_t events = 0;
};

/// Events with ToF, in the order that they are drawn in unless something else is said. Times are in ms, medians.
class ListmodeTiming {
 public:
  ListmodeTiming(Backend backend, int repeats) : backend_(backend), repeats_(repeats) {}

  /// An EM step whose plan is made; of events in random order, or partitioned and sorted.
  enum class Order { random, sorted };
  double pass_ms(const ListmodeCase& c, Order order = Order::random, bool deterministic = false);
  /// An EM step that plans first.
  double first_pass_ms(const ListmodeCase& c);
  double plan_ms(const ListmodeCase& c);
  /// Whether that many first passes of deterministic projectors give the same sums bit for bit.
  bool identical(const ListmodeCase& c, int runs);
  /// |<A x, y> - <x, A^T y>| / <A x, y> for an image x and values y that are uniform in [0.5, 1.5); by the
  /// deterministic setting A^T goes by tiles on a GPU.
  double adjointness(const ListmodeCase& c, bool deterministic);
  /// Normalised RMS of an EM step's sum from the double-precision reference's, of as many events as that can take in a
  /// moment, by the way on which all of them go. Measured once for each projector, workload and setting.
  double nrms(const ListmodeCase& c, bool deterministic);

  struct Peer {
    double ms;         // forward and back
    double deviation;  // RMS of its forward projection from ours by its edge rule, relative to ours
    std::string version;
  };
  /// libparallelproj of that file, with the same events. Throws std::runtime_error as ParallelprojPeer does.
  Peer peer(const ListmodeCase& c, const std::string& library);

 private:
  EventView here(const ListmodeCase& c);
  EventView there(const ListmodeCase& c);
  void draw(const ListmodeCase& c);
  double em_step_ms(const ListmodeCase& c, const EventView& events, bool deterministic);

  Backend backend_;
  int repeats_;
  std::string workload_;  // whose events are held, on the host and where they are projected
  EventBatch here_, there_;
  std::map<std::string, double> nrms_;
};

}  // namespace tofstream::command
