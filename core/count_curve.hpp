// How many events a run had received, over time: a curve of bounded size for a run of any length.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tofstream {

// Events received up to a moment of the run.
struct CountPoint {
  double seconds = 0;
  std::uint64_t events = 0;
  bool operator==(const CountPoint&) const = default;
};

// Points at least an interval apart. When there are too many every second one is left out and the interval doubled; the
// counts are sums, so nothing is lost of what lies between.
class CountCurve {
 public:
  CountCurve(double interval_seconds, std::size_t most_points)
      : interval_(interval_seconds), most_(most_points), points_{{}} {}

  // Seconds into the run at which the next point is due.
  double due() const { return points_.back().seconds + interval_; }
  // Adds a point that is due; one that is not is left out.
  void add(const CountPoint& point);
  // Begins at no events at 0 s.
  const std::vector<CountPoint>& points() const { return points_; }

 private:
  double interval_;
  std::size_t most_;
  std::vector<CountPoint> points_;
};

}  // namespace tofstream
