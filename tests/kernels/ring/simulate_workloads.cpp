// Random LORs: their ends lie on the cylinder, they cross the image, ToF centres lie inside it, and
// a seed always gives the same events.
#include "kernels/ring/simulate/workloads.hpp"

namespace tofstream {

TEST_CASE("Random LORs lie where the workload says") {
  for (const std::string& name : workload_names()) {
    const Workload workload = find_workload(name);
    const EventBatch batch = random_lors(workload, 2000, 1);
    const EventView events = batch.view();
    double radius_error = 0, outside = 0, half_length = 0;
    for (std::int64_t i = 0; i < events.count; ++i) {
      const Lor lor = events.lor(i);
      for (const Vec3& end : {lor.end1, lor.end2}) {
        const double radius = std::hypot(static_cast<double>(end.x), static_cast<double>(end.y));
        radius_error = std::max(radius_error, std::abs(radius - static_cast<double>(workload.radius_mm)));
        half_length = std::max(half_length, std::abs(static_cast<double>(end.z)));
      }
      const Vec3d a = lor.end1.as<double>(), b = lor.end2.as<double>();
      const Vec3d centre = a + (0.5 + static_cast<double>(lor.tof_mm) / norm(b - a)) * (b - a);
      for (int axis = 0; axis < 3; ++axis)
        outside = std::max(outside, std::abs(centre[axis]) - 0.5 * workload.grid.size[axis] *
                                                                 static_cast<double>(workload.grid.voxel_mm[axis]));
    }
    CAPTURE(name);
    CHECK(radius_error < 1e-3);
    CHECK(half_length <= 0.5 * static_cast<double>(workload.length_mm));
    CHECK(half_length > 0.45 * static_cast<double>(workload.length_mm));
    CHECK(outside < 1e-3);
  }
}

TEST_CASE("A seed always gives the same random LORs") {
  const Workload w1 = find_workload("W1");
  const EventBatch a = random_lors(w1, 100, 7), b = random_lors(w1, 100, 7);
  const EventBatch other = random_lors(w1, 100, 8);
  CHECK(std::ranges::equal(a.ends[2].span(), b.ends[2].span()));
  CHECK(std::ranges::equal(a.tof_mm.span(), b.tof_mm.span()));
  CHECK(!std::ranges::equal(a.tof_mm.span(), other.tof_mm.span()));
}

TEST_CASE("Workloads refuse what they cannot do") {
  CHECK_THROWS_WITH(find_workload("W9"), doctest::Contains("choose one of W1"));
  CHECK_THROWS_AS(random_lors(find_workload("W1"), -1, 1), std::invalid_argument);
  Workload far = find_workload("W1");
  far.grid.origin_mm = {5000, 5000, 5000};
  CHECK_THROWS_WITH(random_lors(far, 1, 1), doctest::Contains("hardly any line"));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
