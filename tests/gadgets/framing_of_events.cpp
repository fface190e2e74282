// Frames that end when so many events have come: the same whatever the batches, with the times of their events.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/testing.hpp"
#include "gadgets/io/dynamic/frame_times_table.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/frames_of_events.hpp"
#include "tests/gadgets/numbered_events.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using tofstream::testing::numbers;

namespace {

/// Ten events a second for 10 s, then forty a second.
EventBatch quickening_batch(int first, int count) {
  const auto at = [](int event) { return event < 100 ? 0.1 * event : 10 + 0.025 * (event - 100); };
  return testing::numbered_batch(first, count, at(first), at(first + count) - at(first));
}

struct EventFrames {
  std::vector<std::shared_ptr<const EventSubset>> subsets;  // without restarts
  BookEntries books;
  std::map<std::string, Figure> figures;
};

EventFrames finished(RegisteredGadgetTest<EventSubset>& gadget) {
  gadget.finish();
  EventFrames made{{}, gadget.context.recorded(), gadget.context.figures()};
  for (const auto& subset : gadget.out.all())
    if (!subset->step.restart) made.subsets.push_back(subset);
  return made;
}

/// 300 events over 15 s.
EventFrames framed_by_events(const std::string& parameters, int batch_size = 20) {
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, least_events: 0, " + parameters + "}");
  for (int first = 0; first < 300; first += batch_size)
    gadget.send(quickening_batch(first, std::min(batch_size, 300 - first)));
  return finished(gadget);
}

EventBatch emptied_batch(double start_s, double duration_s) {
  EventBatch batch;
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  return batch;
}

std::string refusal_of_framing(const std::string& parameters) {
  try {
    RegisteredGadgetTest<EventSubset>("framing", "{" + parameters + "}");
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("frames of so many events have the same events whatever the batches, and the times of these") {
  for (const int batch_size : {1, 10, 20, 100}) {
    CAPTURE(batch_size);
    const EventFrames made = framed_by_events("frames_of_events: 80, subsets: 2, iterations: 2", batch_size);
    REQUIRE(made.subsets.size() == 4 * 4);
    const double ends_s[] = {0, 8, 11.5, 13.5, 15};
    for (std::size_t s = 0; s < made.subsets.size(); ++s) {
      CAPTURE(s);
      const EventSubset& subset = *made.subsets[s];
      const ScanFrame& frame = subset.step.frame;
      const int number = static_cast<int>(s / 4), of_frame = number < 3 ? 80 : 60;
      CHECK(frame.number == number + 1);
      CHECK(frame.frames == (number < 3 ? 0 : 4));
      CHECK(frame.start_s == approx(ends_s[number]));
      CHECK(frame.duration_s == approx(ends_s[number + 1] - ends_s[number]));
      CHECK(subset.time_fraction == approx(0.5 * frame.duration_s));
      CHECK(subset.step.ends_frame() == (s % 4 == 3));
      CHECK(subset.step.last == (s == 15));
      const std::vector<int> here = numbers(subset);
      REQUIRE(here.size() == static_cast<std::size_t>(of_frame) / 2);
      for (std::size_t e = 0; e < here.size(); ++e)
        CHECK(here[e] == 80 * number + subset.step.subset + 2 * static_cast<int>(e));
    }
    CHECK(made.books.rejected_total() == 0);
    CHECK(std::get<std::int64_t>(made.figures.at("frames")) == 4);
  }
}

TEST_CASE("frames of so many events: the last one is told where it is full, and where the scan is one") {
  const EventFrames full = framed_by_events("frames_of_events: 100, subsets: 1");
  REQUIRE(full.subsets.size() == 3);
  CHECK(full.subsets[2]->step.last);
  CHECK(full.subsets[2]->step.frame.frames == 3);
  CHECK(full.subsets[2]->size() == 100);
  const EventFrames one = framed_by_events("frames_of_events: 1000000, subsets: 1");
  REQUIRE(one.subsets.size() == 1);
  CHECK(one.subsets[0]->step.last);
  CHECK(one.subsets[0]->step.frame.duration_s == approx(15));
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, frames_of_events: 10}");
  const EventFrames none = finished(gadget);
  CHECK(none.subsets.empty());
  CHECK(std::get<std::int64_t>(none.figures.at("frames")) == 0);
}

TEST_CASE("frames of so many events begin where they are to, and what came before is in none") {
  const EventFrames made = framed_by_events("frames_of_events: 100, from_s: 5, subsets: 1");
  REQUIRE(made.subsets.size() == 3);
  CHECK(made.books.rejected.at("in no frame") == 50);
  CHECK(made.subsets[0]->step.frame.start_s == approx(5));
  CHECK(numbers(*made.subsets[0]).front() == 50);
  CHECK(made.subsets[2]->size() == 50);
  CHECK(made.subsets[2]->step.frame.start_s == approx(13.75));
}

TEST_CASE("frames of so many events: time that a window has emptied behind a full frame is the next one's") {
  RegisteredGadgetTest<EventSubset> gadget(
      "framing", "{backend: cpu, frames_of_events: 50, subsets: 1, least_events: 0, start: previous}");
  gadget.send(emptied_batch(0, 1));
  gadget.send(testing::numbered_batch(0, 50, 1, 5));
  gadget.send(emptied_batch(6, 2));
  gadget.send(testing::numbered_batch(50, 30, 8, 3));
  gadget.send(emptied_batch(0, 0));  // of no time
  gadget.send(emptied_batch(11, 4));
  gadget.send(testing::numbered_batch(80, 20, 15, 2));
  gadget.send(emptied_batch(17, 9));  // of a frame without events, which has no image
  const EventFrames made = finished(gadget);
  REQUIRE(made.subsets.size() == 2);
  CHECK(made.subsets[0]->step.frame.start_s == 0);
  CHECK(made.subsets[0]->step.frame.duration_s == approx(6));
  CHECK(made.subsets[0]->time_fraction == approx(6));
  CHECK(made.subsets[1]->step.frame.start_s == approx(6));
  CHECK(made.subsets[1]->step.frame.duration_s == approx(11));
  CHECK(made.subsets[1]->time_fraction == approx(11));
  CHECK(made.subsets[1]->step.last);
}

TEST_CASE("frames of so many events go together too") {
  const EventFrames made = framed_by_events("frames_of_events: 140, together: true, subsets: 2");
  REQUIRE(made.subsets.size() == 2 * 3);
  for (std::size_t s = 0; s < 6; ++s) {
    const ScanFrame& frame = made.subsets[s]->step.frame;
    CHECK(made.subsets[s]->step.is_joint);
    CHECK(frame.number == static_cast<int>(s % 3) + 1);
    CHECK(frame.frames == 3);
    CHECK(frame.start_s == approx(frame.number == 1 ? 0 : (frame.number == 2 ? 11 : 14.5)));
  }
}

TEST_CASE("frames are given in one way, and those of events are not without number") {
  const std::string one_way = "set exactly one of frames, frames_of_events and frame_table";
  CHECK(refusal_of_framing("subsets: 1").find(one_way) != std::string::npos);
  CHECK(refusal_of_framing("frames: [5], frames_of_events: 100").find(one_way) != std::string::npos);
  CHECK(refusal_of_framing("frames: [5], from_s: 2").find("from_s is of frames_of_events") != std::string::npos);
  FramesOfEvents frames(1, 0);
  for (int number = 1; number < formats::most_frames; ++number) frames.next();
  CHECK_THROWS_WITH(frames.next(), "frames_of_events: 1 events a frame make more than 100000 frames: write more");
  RegisteredGadgetTest<EventSubset> gadget("framing", "{backend: cpu, frames_of_events: 10}");
  CHECK_THROWS_WITH(gadget.send(testing::numbered_batch(0, 50, 0, 0)), doctest::Contains("state no scan time"));
}
// SPDX-License-Identifier: Apache-2.0
