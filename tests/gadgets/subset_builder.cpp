// Subsets are cut where they should be, in time order, with nothing lost, and replayed for every iteration; what is made
// from them says which events they are of.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/numbered_events.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

std::vector<int> range_of(int begin, int end) {
  std::vector<int> all(static_cast<std::size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

}  // namespace

TEST_CASE("a stream is cut into the asked number of equal, consecutive subsets, whatever its batches were") {
  for (const int batch_size : {1, 3, 7, 50, 100}) {
    CAPTURE(batch_size);
    RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 4, iterations: 2, backend: cpu}");
    for (int first = 0; first < 100; first += batch_size) {
      const int count = std::min(batch_size, 100 - first);
      gadget.send(numbered_batch(first, count, first * 0.1, count * 0.1));
    }
    CHECK(gadget.out.empty());
    gadget.finish();
    const auto subsets = gadget.out.all();
    REQUIRE(subsets.size() == 8);
    for (std::size_t s = 0; s < 8; ++s) {
      const int k = static_cast<int>(s % 4);
      CHECK(numbers(*subsets[s]) == range_of(25 * k, 25 * (k + 1)));
      CHECK(subsets[s]->time_fraction == approx(2.5));  // a quarter of 10 s
      CHECK(subsets[s]->step.iteration == static_cast<int>(s / 4) + 1);
      CHECK(subsets[s]->step.subset == k);
      CHECK(subsets[s]->step.ends_iteration == (k == 3));
      CHECK(subsets[s]->step.last == (s == 7));
      CHECK(subsets[s]->event_count() == (s < 4 ? 25 : 0));  // a replay brings no new events
    }
    CHECK(subsets[0]->batches == subsets[4]->batches);  // replayed, not copied
  }
}

TEST_CASE("cut: interleaved gives every subset each so many-th event and an equal share of the time") {
  for (const int batch_size : {1, 3, 7, 50, 102}) {
    CAPTURE(batch_size);
    RegisteredGadgetTest<EventSubset> gadget("subset_builder",
                                             "{subsets: 4, cut: interleaved, iterations: 2, backend: cpu}");
    for (int first = 0; first < 102; first += batch_size) {
      const int count = std::min(batch_size, 102 - first);
      // The second half takes three times as long as the first.
      gadget.send(numbered_batch(first, count, first * 0.1, count * (first < 51 ? 0.1 : 0.3)));
    }
    gadget.finish();
    const auto subsets = gadget.out.all();
    REQUIRE(subsets.size() == 8);
    for (std::size_t s = 0; s < 8; ++s) {
      const int k = static_cast<int>(s % 4);
      std::vector<int> expected;
      for (int number = k; number < 102; number += 4) expected.push_back(number);
      CHECK(numbers(*subsets[s]) == expected);
      CHECK(subsets[s]->time_fraction == approx(subsets[0]->time_fraction));
      CHECK(subsets[s]->step.subset == k);
      CHECK(subsets[s]->step.last == (s == 7));
      CHECK(subsets[s]->event_count() == (s < 4 ? expected.size() : 0));
      for (const auto& batch : subsets[s]->batches) CHECK(batch->axis_begin[3] == batch->count);  // still sorted
    }
    double time = 0;
    for (std::size_t s = 0; s < 4; ++s) time += subsets[s]->time_fraction;
    double all = 0;
    for (int first = 0; first < 102; first += batch_size)
      all += std::min(batch_size, 102 - first) * (first < 51 ? 0.1 : 0.3);
    CHECK(time == approx(all));
  }
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventSubset>("subset_builder", "{events: 10, cut: interleaved}"),
                    doctest::Contains("cut: interleaved needs the whole stream: set subsets"));
}

TEST_CASE("subsets follow one another in an order of their own, once all have come") {
  const auto firsts = [](const std::string& settings) {
    RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{iterations: 2, backend: cpu, " + settings + "}");
    for (int first = 0; first < 48; first += 6) gadget.send(numbered_batch(first, 6, first * 0.1, 0.6));
    gadget.finish();
    std::vector<int> found;
    std::int64_t update = 0;
    const auto subsets = gadget.out.all();
    for (std::size_t s = 0; s < subsets.size(); ++s) {
      found.push_back(numbers(*subsets[s]).front() / 6);
      CHECK(subsets[s]->step.update == ++update);
      CHECK(subsets[s]->step.subset == static_cast<int>(s % 8));  // its place
      CHECK(subsets[s]->step.iteration == static_cast<int>(s / 8) + 1);
      CHECK(subsets[s]->step.last == (s == 15));
      CHECK(subsets[s]->event_count() == (s < 8 ? 6 : 0));
      if (s != 15) CHECK(subsets[s]->next_batches == subsets[s + 1]->batches);
    }
    return found;
  };
  const std::vector<int> twice = {0, 4, 2, 6, 1, 5, 3, 7, 0, 4, 2, 6, 1, 5, 3, 7};
  CHECK(firsts("subsets: 8, order: herman_meyer") == twice);
  CHECK(firsts("events: 6, order: herman_meyer") == twice);  // they wait for the last
  const std::vector<int> random = firsts("subsets: 8, order: random, seed: 3");
  CHECK(random == firsts("subsets: 8, order: random, seed: 3"));
  CHECK(random != firsts("subsets: 8, order: random, seed: 4"));
  CHECK(!std::equal(random.begin(), random.begin() + 8, random.begin() + 8));
  CHECK_THROWS_WITH(firsts("subsets: 8, order: backwards"), doctest::Contains("herman_meyer"));
}

TEST_CASE("subsets of unequal duration carry their share of the scan's time") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 2, reference_s: 0, backend: cpu}");
  gadget.send(numbered_batch(0, 10, 0, 1.0));   // ten events a second
  gadget.send(numbered_batch(10, 10, 1, 3.0));  // then fewer
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 2);
  CHECK(subsets[0]->time_fraction == approx(0.25));
  CHECK(subsets[1]->time_fraction == approx(0.75));
}

TEST_CASE("a batch that a window emptied keeps its scan time and exposure, which go to the events that follow") {
  const auto emptied = [](double start_s, double duration_s, double exposure) {
    EventBatch batch = numbered_batch(0, 0, start_s, duration_s);
    batch.exposure = exposure;
    return batch;
  };
  for (const char* cut : {"subsets: 1", "seconds: 100", "events: 1000"}) {
    CAPTURE(cut);
    RegisteredGadgetTest<EventSubset> gadget("subset_builder",
                                             fmt::format("{{{}, reference_s: 1, backend: cpu}}", cut));
    gadget.send(emptied(0, 2, 0.5));
    gadget.send(numbered_batch(0, 10, 2, 1));
    gadget.send(emptied(3, 4, 0.25));
    gadget.send(numbered_batch(10, 10, 7, 1));
    gadget.send(emptied(8, 8, 0.125));
    gadget.finish();
    const auto subsets = gadget.out.all();
    REQUIRE(subsets.size() == 1);
    CHECK(subsets[0]->time_fraction == approx(1 + 1 + 1 + 1 + 1));
  }
  // By seconds: the second that nothing came in belongs to the events after it.
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{seconds: 2, backend: cpu}");
  gadget.send(numbered_batch(0, 10, 0, 1));
  gadget.send(emptied(1, 2, 1));
  gadget.send(numbered_batch(10, 10, 3, 1));
  gadget.finish();
  double seconds = 0;
  for (const auto& subset : gadget.out.all()) seconds += subset->time_fraction;
  CHECK(seconds == approx(4));
}

TEST_CASE("decay and dead time weight the subsets' time") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 2, reference_s: 1, backend: cpu}");
  EventBatch first = numbered_batch(0, 10, 0, 4.0), second = numbered_batch(10, 10, 4, 4.0);
  first.exposure = 0.75;
  second.exposure = 0.5;
  gadget.send(std::move(first));
  gadget.send(std::move(second));
  gadget.finish();
  CHECK(gadget.out.pointer(0)->time_fraction == approx(3.0));
  CHECK(gadget.out.pointer(1)->time_fraction == approx(2.0));
}

TEST_CASE("delayeds are not reconstructed together with prompts") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 1, backend: cpu}");
  EventBatch delayeds = numbered_batch(0, 10, 0, 1.0);
  delayeds.delayed = true;
  gadget.send(numbered_batch(0, 10, 0, 1.0));
  CHECK_THROWS_WITH(gadget.send(std::move(delayeds)), doctest::Contains("event_corrections"));
}

TEST_CASE("unless told otherwise the reference is one second: the fraction is the subset's time in seconds") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 2, backend: cpu}");
  gadget.send(numbered_batch(0, 10, 0, 4.0));
  gadget.finish();
  CHECK(gadget.out.pointer(0)->time_fraction == approx(2.0));
}

TEST_CASE("a stream without times shares by events, and more subsets than events leaves out the empty ones") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 7, backend: cpu}");
  gadget.send(numbered_batch(0, 3, 0, 0));
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(numbers(*subsets[k]) == range_of(static_cast<int>(k), static_cast<int>(k) + 1));
    CHECK(subsets[k]->time_fraction == approx(1.0 / 3));
  }
}

TEST_CASE("by events a subset goes out as soon as it is full, and what is left at the end") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{events: 40, iterations: 2, backend: cpu}");
  gadget.send(numbered_batch(0, 30, 0, 3.0));
  CHECK(gadget.out.empty());
  gadget.send(numbered_batch(30, 70, 3, 7.0));
  REQUIRE(gadget.out.size() == 2);
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 6);  // three as they came, three replayed
  CHECK(numbers(*subsets[0]) == range_of(0, 40));
  CHECK(numbers(*subsets[1]) == range_of(40, 80));
  CHECK(numbers(*subsets[2]) == range_of(80, 100));
  CHECK(subsets[0]->time_fraction == approx(4.0));  // seconds: the scan's length was not known
  CHECK(subsets[2]->time_fraction == approx(2.0));
  CHECK(subsets[5]->step.last);
}

TEST_CASE("by seconds subsets end at moments of the scan, also inside a batch") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{seconds: 2, backend: cpu}");
  gadget.send(numbered_batch(0, 50, 0, 5.0));
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 3);
  CHECK(numbers(*subsets[0]) == range_of(0, 20));
  CHECK(numbers(*subsets[1]) == range_of(20, 40));
  CHECK(numbers(*subsets[2]) == range_of(40, 50));
  CHECK(subsets[0]->time_fraction == approx(2.0));
  CHECK(subsets[2]->time_fraction == approx(1.0));
}

TEST_CASE("what is left at the end and has fewer than the least events is part of the last subset") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder",
                                           "{seconds: 2, least_events: 15, iterations: 2, backend: cpu}");
  gadget.send(numbered_batch(0, 50, 0, 5.0));
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 4);
  for (const std::size_t pass : {0, 2}) {
    CHECK(numbers(*subsets[pass]) == range_of(0, 20));
    CHECK(numbers(*subsets[pass + 1]) == range_of(20, 50));
    CHECK(subsets[pass + 1]->time_fraction == approx(3.0));
  }
  CHECK(subsets[1]->event_count() == 30);
  CHECK(gadget.context.recorded().rejected_total() == 0);
  RegisteredGadgetTest<EventSubset> alone("subset_builder", "{seconds: 2, least_events: 15, backend: cpu}");
  alone.send(numbered_batch(0, 5, 0, 0.5));
  alone.finish();
  CHECK(alone.out.size() == 1);  // all that came
}

TEST_CASE("pieces of a cut batch stay partitioned by axis") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 3, backend: cpu}");
  gadget.send(numbered_batch(0, 30, 0, 1.0));
  gadget.finish();
  for (const auto& subset : gadget.out.all())
    for (const auto& batch : subset->batches) {
      CHECK(batch->axis_begin[1] == batch->count);  // all along x
      CHECK(batch->arrival.empty());
    }
}

TEST_CASE("where a subset stands for no time all go by events") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 2, backend: cpu}");
  gadget.send(numbered_batch(0, 10, 0, 1.0));
  gadget.send(numbered_batch(10, 10, 1, 0));
  gadget.finish();
  REQUIRE(gadget.out.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) CHECK(gadget.out.pointer(k)->time_fraction == approx(0.5));
}

TEST_CASE("a stop leaves out the iterations that are left, but nothing of the first") {
  for (const char* cut : {"subsets: 4", "events: 25"}) {
    RegisteredGadgetTest<EventSubset> gadget("subset_builder", fmt::format("{{{}, iterations: 3, backend: cpu}}", cut));
    gadget.send(numbered_batch(0, 100, 0, 10));
    gadget.context.stop();
    gadget.finish();
    std::vector<int> seen;
    for (const auto& subset : gadget.out.all())
      for (const int number : numbers(*subset)) seen.push_back(number);
    CHECK(seen == range_of(0, 100));
    CHECK(std::get<std::int64_t>(gadget.context.figures().at("iterations_left_out")) == 2);
  }
}

TEST_CASE("exactly one way to cut must be chosen, and an empty stream has no subsets") {
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventSubset>("subset_builder"),
                    "set exactly one of subsets, events and seconds");
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventSubset>("subset_builder", "{subsets: 2, seconds: 1}"),
                    "set exactly one of subsets, events and seconds");
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 4, backend: cpu}");
  gadget.finish();
  CHECK(gadget.out.empty());
}

TEST_CASE("few events make fewer subsets, so that none has less than the least") {
  for (const auto& [least, subsets] : {std::pair{10, 8}, std::pair{30, 3}, std::pair{99, 1}, std::pair{1000, 1}}) {
    RegisteredGadgetTest<EventSubset> gadget("subset_builder",
                                             fmt::format("{{subsets: 8, least_events: {}, backend: cpu}}", least));
    gadget.send(numbered_batch(0, 100, 0, 10));
    gadget.finish();
    CHECK(gadget.out.size() == static_cast<std::size_t>(subsets));
  }
}

namespace {

struct ImageEvents {
  UpdateStep step;
  MessageInfo data;
};
std::vector<ImageEvents>& image_events() {
  static std::vector<ImageEvents> all;
  return all;
}

struct KeepImageEvents {
  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    image_events().push_back({estimate->step, context.message()});
  }
};
TOFSTREAM_GADGET(KeepImageEvents, "test_keep_image_events", "Keeps which events images stem from");

constexpr std::uint64_t events_of_scan = 6000, events_of_message = 500;

void reconstruct(const std::string& subsets, const std::string& image) {
  image_events().clear();
  const TemporaryFolder folder;
  const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {1}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, events: {2}, batch_events: {3}, attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{{0}, from: sorted}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 2000, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
  kept: {{use: test_keep_image_events, from: estimate}}
)",
                                       subsets, image, events_of_scan, events_of_message);
  const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder.path()}).run();
  REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "" : report.errors[0].text()));
  REQUIRE(report.books.received == events_of_scan);
}

const std::string small_image = "{size: [16, 16, 8], voxel_mm: [16, 16, 18]}";

}  // namespace

TEST_CASE("each image of an offline reconstruction says which events its subset is of, in every iteration") {
  // In whole messages: a subset that ends within a message shares that message with the next one.
  for (const char* cut : {"subsets: 4", "subsets: 5", "events: 1500", "events: 1300, least_events: 1000"}) {
    CAPTURE(cut);
    reconstruct(fmt::format("use: subset_builder, {}, iterations: 2", cut), small_image);
    std::vector<ImageEvents> updates;
    for (const ImageEvents& image : image_events())
      if (image.step.iteration > 0) updates.push_back(image);
    REQUIRE(updates.size() % 2 == 0);
    const std::size_t subsets = updates.size() / 2;
    REQUIRE(subsets >= 4);
    const std::uint64_t each = std::string(cut).starts_with("subsets") ? events_of_scan / subsets
                               : std::string(cut) == "events: 1500"    ? 1500
                                                                       : 1300;
    for (std::size_t k = 0; k < subsets; ++k) {
      CAPTURE(k);
      const std::uint64_t begin = k * each, end = k + 1 == subsets ? events_of_scan : begin + each;
      const MessageInfo& data = updates[k].data;
      CHECK(data.first_event <= begin);
      CHECK(data.first_event + events_of_message >= begin);
      CHECK(data.end_event >= end);
      CHECK(data.end_event < end + events_of_message);
      CHECK(updates[subsets + k].data.first_event == data.first_event);
      CHECK(updates[subsets + k].data.end_event == data.end_event);
      CHECK(updates[subsets + k].data.last_ingress == updates[subsets - 1].data.last_ingress);
    }
  }
}

TEST_CASE("a start image says that it stems from no event, offline and live, however its grid is found") {
  for (const std::string& image : {small_image, std::string("{voxel_mm: 20}")})
    for (const char* subsets : {"use: subset_builder, subsets: 4", "use: live_subsets, events: 1500"}) {
      CAPTURE(image);
      CAPTURE(subsets);
      reconstruct(subsets, image);
      REQUIRE(image_events().size() > 1);
      const ImageEvents& start = image_events().front();
      CHECK(start.step.iteration == 0);
      CHECK(start.data.first_event == 0);
      CHECK(start.data.end_event == 0);
      const auto end = [](const ImageEvents& update) { return update.data.end_event; };
      CHECK(std::ranges::max(image_events(), {}, end).data.end_event == events_of_scan);
    }
}
// SPDX-License-Identifier: Apache-2.0
