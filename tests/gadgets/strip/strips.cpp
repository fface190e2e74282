// Two strips through whole pipelines: the same events from a file, live and from a journal give the same image, bit for
// bit; what the gadgets of strips refuse, reject and warn about.
#include <cstring>

#include "gadgets/additive.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "tests/gadgets/live_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace live_test;

namespace {

std::vector<float>& kept_image() {
  static std::vector<float> voxels;
  return voxels;
}

struct KeepImage {
  void process(const Estimate& estimate) {
    const auto voxels = estimate.image->voxels.span();
    kept_image().assign(voxels.begin(), voxels.end());
  }
};
TOFSTREAM_GADGET(KeepImage, "test_keep_image", "Keeps the last image");

RunReport run_well(const std::string& yaml) {
  kept_image().clear();
  RunReport report = run(yaml);
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.balanced());
  return report;
}

/// The image of the events from `source`, which is gadgets ending with `events`.
std::vector<float> image_of(const std::string& source, const std::string& events = "events") {
  run_well(fmt::format(R"(
image: {{size: [1, 17, 19], voxel_mm: [4, 16, 16]}}
backend: cpu
gadgets:
{}  subsets: {{use: subset_builder, from: {}, subsets: 1, iterations: 3}}
  projected: {{use: strip_projector, from: {{events: subsets, image: estimate}}}}
  estimate: {{use: osem_update, from: projected}}
  kept: {{use: test_keep_image, from: estimate}}
)",
                       source, events));
  return std::move(kept_image());
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

ByteBlock bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {{bytes.begin(), bytes.end()}};
}

}  // namespace

TEST_CASE("the same events of two strips from a file, live and from a journal give the same image") {
  const TemporaryFolder folder;
  for (const char* format : {"text", "float32"})
    REQUIRE(run(fmt::format("gadgets:\n  photons: {{use: strip_simulator, events: 9000, batch_events: 4000}}\n"
                            "  file: {{use: strip_writer, from: photons, format: {0}, file: {1}/{0}}}\n",
                            format, folder.path().string()))
                .exit_code == 0);
  const auto file = [&](const char* format) {  // in the same batches, since sums are rounded batch by batch
    return fmt::format(
        "  file: {{use: file_source, path: {}/{}, chunk_kib: 17}}\n"
        "  events: {{use: strip_decoder, from: file, format: {}, batch_events: 2000}}\n",
        folder.path().string(), format, format);
  };
  const std::vector<float> from_text = image_of(file("text"));
  CHECK(same(from_text, image_of(file("float32"))));
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  const std::string live =
      file("text") + fmt::format(
                         "  sent: {{use: zmq_sink, from: events, scanner: jpet_strip, endpoint: \"{}\"}}\n"
                         "  feed: {{use: zmq_source, endpoint: \"{}\", journal: {}}}\n",
                         endpoint, endpoint, (folder / "journal").string());
  CHECK(same(from_text, image_of(live, "feed.events")));
  const std::string replay = fmt::format("  feed: {{use: journal_source, path: {}}}\n", (folder / "journal").string());
  CHECK(same(from_text, image_of(replay, "feed.events")));
}

TEST_CASE("the decoder gives batches of one size, whatever the pieces, and rejects what no strips measured") {
  RegisteredGadgetTest<EventBatch> test("strip_decoder", "{batch_events: 2}");
  test.send(bytes_of("1 2 3\n4 5"));
  CHECK(test.out.size() == 0);
  test.send(bytes_of(" 6\n0 400 0\n7 8 9\n"));
  REQUIRE(test.out.size() == 1);
  test.finish();
  REQUIRE(test.out.size() == 2);
  CHECK(test.out[0].count == 2);
  CHECK(test.out[1].count == 1);
  CHECK(strip_geometry(*test.out[1].scanner) == StripGeometry{130, 300});
  const auto last = strip_response<float>(test.out[1].view(), 0);
  CHECK(last.z_up_mm == 7);
  CHECK(last.z_down_mm == 8);
  CHECK(last.dl_mm == 9);
  CHECK(test.out[1].view().lor(0).end1 == Vec3{0, 130, 7});
  CHECK(test.context.recorded().received == 4);
  CHECK(test.context.recorded().rejected.at("beyond what the strips can have measured") == 1);
}

TEST_CASE("the decoder tells a bad line, and a scanner that is none of strips") {
  RegisteredGadgetTest<EventBatch> test("strip_decoder");
  test.send(bytes_of("1 2 3\n"));
  CHECK_THROWS_WITH(test.send(bytes_of("# fine\n1 2 b\n")), doctest::Contains("line 3: '1 2 b' is not an event"));
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("strip_decoder", "{scanner: demo_ring}"),
                    doctest::Contains("this is a ring of crystals, where a pair of strips is wanted"));
  CHECK_THROWS_WITH(
      RegisteredGadgetTest<EventBatch>("strip_simulator", "{phantom: nema_iq, resolution: {sigma_z_mm: -1}}"),
      doctest::Contains("sigma_z_mm"));
}

TEST_CASE("direct reconstruction is counts over sensitivity, a rate where the time is known") {
  EventBatch batch = make_strip_batch(make_strip_scanner("s", {130, 300}), 4);
  batch.duration_s = 2;
  for (int i = 0; i < 4; ++i) set_response(batch, i, {0, 0, i == 3 ? 1000.0F : 0.0F});
  RegisteredGadgetTest<Estimate> test("strip_direct",
                                      "{image: {size: [1, 3, 3], voxel_mm: [5, 10, 10]}, reference_s: 1}");
  test.send(std::move(batch));
  test.finish();
  REQUIRE(test.out.size() == 1);
  const Image& image = *test.out[0].image;
  // Three events in 2 s from decays in 0.5 mL, of which the share 2 atan(150/130) / pi is recorded.
  const double sensitivity = 2 * std::atan(150.0 / 130) / 3.14159265358979;
  CHECK(image.voxels[image.grid.index(0, 1, 1)] == approx(3 / (2 * 0.5 * sensitivity)).epsilon(1e-5));
  CHECK(image.voxels[image.grid.index(0, 0, 1)] == 0);
  CHECK(test.context.recorded().rejected.at("outside the image") == 1);
  CHECK_THROWS_WITH(RegisteredGadgetTest<Estimate>("strip_direct", "{image: {size: [3, 3, 3]}}"),
                    doctest::Contains("has one voxel along x"));
}

TEST_CASE("a ring's events are none for strips, and the projector of strips says so") {
  const RunReport report = run(R"(
image: {size: [1, 9, 9], voxel_mm: [4, 30, 30]}
backend: cpu
gadgets:
  photons: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder, events: 100}
  subsets: {use: subset_builder, from: photons, subsets: 1}
  projected: {use: strip_projector, from: {events: subsets, image: estimate}}
  estimate: {use: osem_update, from: projected}
  kept: {use: test_keep_image, from: estimate}
)");
  CHECK(report.exit_code == 1);
  CHECK_MESSAGE(first_error(report).find("is no pair of strips") != std::string::npos, first_error(report));
}

TEST_CASE("the projector's sensitivity is that of 1 Bq/mL in a voxel, or on request the same for all voxels") {
  EventBatch batch = make_strip_batch(make_strip_scanner("s", {130, 300}), 1);
  set_response(batch, 0, {0, 0, 0});
  const auto events = std::make_shared<const EventBatch>(std::move(batch));
  const auto image = std::make_shared<const Image>(Image::filled(Grid::centred(1, 5, 5, {4, 10, 10}), 1));
  const auto subset = std::make_shared<const EventSubset>(EventSubset{.batches = {events}});
  const auto estimate = std::make_shared<const Estimate>(Estimate{.image = image});
  for (const bool divides : {true, false}) {
    RegisteredGadgetTest<Projected> test("strip_projector", fmt::format("{{backend: cpu, sensitivity: {}}}", divides));
    test.send(subset, estimate, std::shared_ptr<const Additive<EventBatch>>());
    REQUIRE(test.out.size() == 1);
    const Image& sensitivity = *test.out[0].sensitivity;
    const double centre = divides ? 2 * std::atan(150.0 / 130) / 3.14159265358979 : 1;
    CHECK(sensitivity.voxels[sensitivity.grid.index(0, 2, 2)] == approx(0.4 * centre).epsilon(1e-5));
    CHECK((sensitivity.voxels[0] == sensitivity.voxels[12]) != divides);
  }
}
// SPDX-License-Identifier: Apache-2.0
