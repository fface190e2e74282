// Frames of a dynamic scan: each event is in its frame or booked, times add up, each frame is a reconstruction of its
// own that does not depend on the others, and the writer puts all into one file.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/io/nifti/frame_times.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/penalty.hpp"
#include "gadgets/subset/frame_table.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/numbered_events.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using tofstream::testing::numbers;

namespace {

/// Ten events a second.
EventBatch numbered_batch(int first, int count) {
  return testing::numbered_batch(first, count, 0.1 * first, 0.1 * count);
}

struct Framed {
  std::vector<std::shared_ptr<const EventSubset>> subsets;
  BookEntries books;
  std::map<std::string, Figure> figures;
};

/// 200 events over 20 s.
Framed framed(const std::string& parameters, int batch_size = 7) {
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, " + parameters + "}");
  for (int first = 0; first < 200; first += batch_size)
    gadget.send(numbered_batch(first, std::min(batch_size, 200 - first)));
  gadget.finish();
  return {gadget.out.all(), gadget.context.recorded(), gadget.context.figures()};
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    read_frames(words);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("frames are read from words") {
  const auto frames = read_frames({"3x10", "40-50.5", "5"});
  REQUIRE(frames.size() == 5);
  CHECK(frames[2].start_s == 20);
  CHECK(frames[2].frames == 5);
  CHECK(frames[3].number == 4);
  CHECK(frames[3].start_s == 40);
  CHECK(read_frames({"10", "20-50.5", "5"})[2].start_s == 50.5);
  CHECK(read_frames({"0.1", "0.2", "0.3-1"}).back().start_s == 0.3);  // the sum is above 0.3
  CHECK(read_frames({"3000x0.1"}).back().start_s == approx(299.9).epsilon(1e-12));
  CHECK(in_words(frames[4]) == "frame 5 (50.5 to 55.5 s)");
}

TEST_CASE("what are no frames is refused with the word and what to write") {
  for (const char* word : {"", "x", "6x", "x10", "0x10", "1.5x10", "6x0", "-5", "20-", "20-10", "20-20", "1e99", "nan",
                           "ten", "6x10s", "1000000x1"}) {
    CAPTURE(word);
    CHECK(refusal({"10", word}).starts_with(fmt::format("frames: '{}' says no frame: write 6x10", word)));
  }
  CHECK(refusal({"20-30", "25-40"}) ==
        "frames: '25-40' begins before the frame before it ends, at 30 s: frames cannot overlap");
  CHECK(refusal({}).starts_with("frames: write at least one"));
  CHECK(refusal({"60000x1", "60000x1"}) == "frames: there cannot be more than 100000");
}

TEST_CASE("each event goes to its frame, in all iterations, whatever its batches were") {
  for (const int batch_size : {1, 7, 30, 200}) {
    CAPTURE(batch_size);
    const Framed made = framed("frames: [2x5, 10], subsets: 2, cut: time, least_events: 0, iterations: 2", batch_size);
    // Two subsets twice for each frame, and a restart before the second and third.
    REQUIRE(made.subsets.size() == 3 * 4 + 2);
    std::int64_t update = 0;
    std::vector<int> all;
    double seconds = 0;
    for (const auto& subset : made.subsets) {
      const UpdateStep& step = subset->step;
      CHECK(step.update == ++update);
      if (step.restart) {
        CHECK((update == 5 || update == 10));
        continue;
      }
      const int begin = step.frame.number == 1 ? 0 : (step.frame.number == 2 ? 50 : 100);
      const int half = step.frame.number == 3 ? 50 : 25;
      const std::vector<int> here = numbers(*subset);
      CHECK(here.front() == begin + step.subset * half);
      CHECK(here.size() == static_cast<std::size_t>(half));
      CHECK(step.frame.frames == 3);
      CHECK(step.ends_frame() == (step.iteration == 2 && step.subset == 1));
      CHECK(step.last == (step.ends_frame() && step.frame.number == 3));
      if (step.iteration == 2) continue;
      all.insert(all.end(), here.begin(), here.end());
      seconds += subset->time_fraction;
    }
    CHECK(all.size() == 200);
    CHECK(seconds == approx(20));
    CHECK(made.books.rejected_total() == 0);
  }
}

TEST_CASE("a frame does not depend on those before it, but where it begins with their image") {
  const Framed alone = framed("frames: [5-10], subsets: 3, least_events: 0, iterations: 2");
  const Framed second = framed("frames: [5, 5, 10], subsets: 3, least_events: 0, iterations: 2");
  CHECK(alone.books.rejected.at("in no frame") == 150);
  REQUIRE(alone.subsets.size() == 6);
  for (std::size_t s = 0; s < 6; ++s) {
    CHECK(numbers(*alone.subsets[s]) == numbers(*second.subsets[7 + s]));  // behind one frame and a restart
    CHECK(alone.subsets[s]->time_fraction == second.subsets[7 + s]->time_fraction);
  }
  const Framed onwards = framed("frames: [5, 5], start: previous, subsets: 1, least_events: 0");
  REQUIRE(onwards.subsets.size() == 3);
  CHECK(onwards.subsets[1]->step.restart);
  CHECK(onwards.subsets[1]->step.keeps_image);
  CHECK(onwards.subsets[2]->step.frame.number == 2);
}

TEST_CASE("frames that a scan does not fill are told, and the image is of the time that there is") {
  const Framed made = framed("frames: [15, 10, 10, 10], subsets: 1, least_events: 0");
  REQUIRE(made.subsets.size() == 3);
  const ScanFrame& last = made.subsets.back()->step.frame;
  CHECK(last.number == 2);
  CHECK(last.frames == 2);
  CHECK(last.duration_s == approx(5));
  CHECK(made.subsets.back()->step.last);
  CHECK(std::get<std::int64_t>(made.figures.at("frames_not_scanned")) == 2);
}

TEST_CASE("a frame without events has no image, and those that follow have theirs") {
  RegisteredGadgetTest<EventSubset> gadget("framing",
                                           "{backend: cpu, frames: [5, 5, 10], subsets: 1, least_events: 0}");
  gadget.send(numbered_batch(0, 50));
  gadget.send(numbered_batch(100, 100));
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 3);
  CHECK(subsets[2]->step.frame.number == 3);
  CHECK(subsets[2]->step.last);
  CHECK(std::get<std::vector<std::string>>(gadget.context.figures().at("frames_without_events")) ==
        std::vector<std::string>{"frame 2 (5 to 10 s)"});
}

TEST_CASE("time that a window has emptied counts in the frames in which it was") {
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, frames: [4x5], subsets: 1, least_events: 0}");
  gadget.send(numbered_batch(0, 30));
  EventBatch emptied;
  emptied.start_s = 3;
  emptied.duration_s = 11;  // the rest of the first frame, all of the second, most of the third
  gadget.send(std::move(emptied));
  gadget.send(numbered_batch(140, 60));
  gadget.finish();
  std::map<int, double> seconds;
  for (const auto& subset : gadget.out.all())
    if (!subset->step.restart) seconds[subset->step.frame.number] += subset->time_fraction;
  REQUIRE(seconds.size() == 3);
  for (const int frame : {1, 3, 4}) CHECK(seconds.at(frame) == approx(5));
}

TEST_CASE("an update forgets all of the frame before, but the image where it is to begin with it") {
  const Grid grid = Grid::centred(2, 1, 1, {1, 1, 1});
  const auto of_frame = [&](int number, float back) {
    return std::make_shared<const Projected>(
        Projected{.step = {.iteration = 1,
                           .iterations = 1,
                           .subsets = 1,
                           .ends_iteration = true,
                           .frame = {.number = number, .frames = 2, .duration_s = 1}},
                  .back_projection = std::make_shared<const Image>(Image::filled(grid, back)),
                  .sensitivity = std::make_shared<const Image>(Image::filled(grid, 1)),
                  .tally = {.used = 1}});
  };
  const auto restart = [&](bool keeps_image) {
    return std::make_shared<const Projected>(
        Projected{.step = restart_of<EventBatch>(1, keeps_image).step,
                  .back_projection = std::make_shared<const Image>(Image::zeros(grid)),
                  .sensitivity = std::make_shared<const Image>(Image::filled(grid, 1)),
                  .tally = {}});
  };
  for (const bool keeps_image : {true, false}) {
    CAPTURE(keeps_image);
    RegisteredGadgetTest<Estimate> update("osem_update",
                                          "{image: {size: [2, 1, 1], voxel_mm: 1}, start_value: 2, backend: cpu}");
    update.start();
    const std::shared_ptr<const Penalty> none;
    update.send(of_frame(1, 5), none);
    CHECK(update.out.all().back()->image->voxels[0] == 10);
    update.send(restart(keeps_image), none);
    CHECK(update.out.all().back()->image->voxels[0] == (keeps_image ? 10 : 2));
    update.send(of_frame(2, 3), none);
    CHECK(update.out.all().back()->image->voxels[0] == (keeps_image ? 30 : 6));
  }
}

TEST_CASE("frames together: each update is of a subset of every frame, and all events are in one pass") {
  const Framed made = framed("frames: [2x5, 10], together: true, subsets: 4, iterations: 2");
  REQUIRE(made.subsets.size() == 2 * 4 * 3);
  std::vector<int> all;
  double seconds = 0;
  for (std::size_t s = 0; s < made.subsets.size(); ++s) {
    const UpdateStep& step = made.subsets[s]->step;
    CHECK(step.is_joint);
    CHECK(step.frame.number == static_cast<int>(s % 3) + 1);
    CHECK(step.frame.frames == 3);
    CHECK(step.update == static_cast<std::int64_t>(s / 3) + 1);
    CHECK(step.subset == static_cast<int>(s / 3 % 4));
    CHECK(step.subsets == 4);
    CHECK(step.iteration == static_cast<int>(s / 12) + 1);
    CHECK(step.ends_iteration == (s % 12 == 11));
    CHECK(step.last == (s == 23));
    CHECK(made.subsets[s]->time_fraction == approx(step.frame.number == 3 ? 2.5 : 1.25));
    if (step.iteration == 2) continue;
    const std::vector<int> here = numbers(*made.subsets[s]);
    all.insert(all.end(), here.begin(), here.end());
    seconds += made.subsets[s]->time_fraction;
  }
  std::ranges::sort(all);
  for (int i = 0; i < 200; ++i) CHECK(all.at(static_cast<std::size_t>(i)) == i);
  CHECK(seconds == approx(20));
}

TEST_CASE(
    "frames together: a frame with fewer events than subsets gives empty ones of no time, an empty one is refused") {
  const Framed made = framed("frames: [0.2, 19.8], together: true, subsets: 3");
  REQUIRE(made.subsets.size() == 3 * 2);
  double seconds = 0;
  for (std::size_t s = 0; s < 6; s += 2) {
    CHECK(made.subsets[s]->batches.empty() == (s == 4));
    seconds += made.subsets[s]->time_fraction;
  }
  CHECK(made.subsets[4]->time_fraction == 0);
  CHECK(seconds == approx(0.2));
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventSubset>("framing", "{frames: [5], together: true, reference_s: 0}"),
                    doctest::Contains("reference_s: 0 gives each frame a scale of its own"));
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, frames: [5, 5, 10], together: true}");
  gadget.send(numbered_batch(0, 50));
  CHECK_THROWS_WITH(gadget.send(numbered_batch(100, 100)),
                    doctest::Contains("frame 2 (5 to 10 s) has no events: frames that are reconstructed together"));
}

TEST_CASE("frames together: what a scan does not reach is left out") {
  const Framed made = framed("frames: [15, 10, 10, 10], together: true, subsets: 1");
  REQUIRE(made.subsets.size() == 2);
  CHECK(made.subsets[1]->step.frame.frames == 2);
  CHECK(made.subsets[1]->step.frame.duration_s == approx(5));
  CHECK(made.subsets[1]->step.last);
}

TEST_CASE("events without a scan time belong to no frame") {
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, frames: [5]}");
  EventBatch timeless = numbered_batch(0, 50);
  timeless.duration_s = 0;
  CHECK_THROWS_WITH(gadget.send(std::move(timeless)),
                    "the events state no scan time, so nobody knows which frame they belong to, and when it was");
}

TEST_CASE("frames are written as one file with their times beside it") {
  const TemporaryFolder folder;
  RegisteredGadgetTest<void> writer("nifti_writer", "{file: image.nii.gz}", folder.path());
  const Grid grid = Grid::centred(3, 4, 5, {2, 2, 2});
  for (int number = 1; number <= 3; ++number)
    for (int iteration = 1; iteration <= 2; ++iteration)
      writer.send(std::make_shared<const Estimate>(
          Estimate{{.iteration = iteration,
                    .iterations = 2,
                    .subsets = 1,
                    .ends_iteration = true,
                    .update = 2 * number + iteration,
                    .frame = {.number = number, .frames = 3, .start_s = 10.0 * number, .duration_s = 10}},
                   std::make_shared<const Image>(Image::filled(grid, static_cast<float>(10 * number + iteration)))}));
  writer.finish();
  const auto path = folder / "image.nii.gz";
  const auto frames = read_nifti_volumes(path);
  REQUIRE(frames.size() == 3);
  for (int f = 0; f < 3; ++f) {
    CHECK(frames[static_cast<std::size_t>(f)].grid == grid);
    CHECK(frames[static_cast<std::size_t>(f)].voxels[7] == static_cast<float>(10 * (f + 1) + 2));
  }
  CHECK_THROWS_WITH(read_nifti(path), doctest::Contains("one 3D image is expected, this has 3 along axis 4"));
  const auto times = read_frame_times(path, 3);
  REQUIRE(times);
  CHECK(times->start_s == std::vector<double>{10, 20, 30});
  CHECK(times->duration_s == std::vector<double>{10, 10, 10});
  CHECK_THROWS_WITH(read_frame_times(path, 4), doctest::Contains("are not the times of 4 frames"));
  std::ofstream(folder / "image.json") << "{";
  CHECK_THROWS_WITH(read_frame_times(path, 3), doctest::Contains("image.json: not JSON"));
}
// SPDX-License-Identifier: Apache-2.0
