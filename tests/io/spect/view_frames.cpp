// A camera's views as frames: what goes out comes in, to the last bit; what no camera counted is refused in one line.
#include "gadgets/spect/io/view_frames.hpp"

#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>

#include <doctest/doctest.h>

#include "gadgets/spect/io/interfile_write.hpp"

using namespace tofstream;
using namespace tofstream::wire;

namespace {

// Views in unequal steps of two heads, with times that differ and two energy windows.
ViewSet uneven_set() {
  ViewSet set{.name = "a camera", .collimator = "LEHR", .pixel_mm = {4.418F, 3.32F, 0}};
  set.size[0] = 5;
  set.size[1] = 3;
  set.windows = {{126.45F, 154.55F}, {100, 120}};
  for (int v = 0; v < 6; ++v)
    set.places.push_back({.angle_deg = 1.1F * static_cast<float>(v * v),
                          .radius_mm = 150 + 0.3F * static_cast<float>(v),
                          .centre_u_mm = 0.1F * static_cast<float>(v),
                          .centre_w_mm = -0.7F,
                          .start_s = 11.7 * (v / 2),
                          .duration_s = 10.1 + v,
                          .head = v % 2});
  return set;
}

CameraStream uneven_camera() {
  return read_camera_header(write_camera_header(uneven_set(), {}));
}

ViewBatch views_of(const CameraStream& camera, const std::vector<int>& numbers, const std::function<float()>& pixel) {
  ViewBatch batch{.count = static_cast<std::int64_t>(numbers.size()) * camera.set->pixels(), .set = camera.set};
  batch.counts = Buffer<float>(Memory::host, batch.count);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double sum = 0;
    for (std::int64_t p = 0; p < camera.set->pixels(); ++p)
      sum += static_cast<double>(batch.counts[static_cast<std::int64_t>(i) * camera.set->pixels() + p] = pixel());
    batch.records.push_back({.view = numbers[i],
                             .exposure = 0.9 + 0.01 * static_cast<double>(i),
                             .counts = static_cast<std::uint64_t>(std::llround(sum))});
  }
  return batch;
}

std::vector<std::byte> sealed(ViewFrame frame) {
  frame.header.sequence = 1;
  seal_frame(frame.header, frame.bytes);
  return frame.bytes;
}

Frame decoded(const std::vector<std::byte>& bytes) {
  const auto result = decode_frame(bytes);
  REQUIRE(std::holds_alternative<Frame>(result));
  return std::get<Frame>(result);
}

}  // namespace

TEST_CASE("a camera's header carries a decay correction in numbers, to the last bit, and refuses what is none") {
  Quantity shows;
  correct_for_decay(shows, {21624.120000000003, 1.0 / 3});
  const std::vector<std::byte> header = write_camera_header(uneven_set(), shows);
  const auto camera = read_camera_header(header);
  CHECK(camera.quantity->decay == shows.decay);
  CHECK((*camera.quantity)[Correction::decay] == shows[Correction::decay]);
  std::string text(reinterpret_cast<const char*>(header.data()), header.size());
  const std::size_t at = text.find("{21624");
  REQUIRE(at != std::string::npos);
  text.replace(at, 3, "{-1");
  CHECK_THROWS_WITH(read_camera_header(std::as_bytes(std::span(text))),
                    doctest::Contains("half-life and a reference time"));
}

TEST_CASE("a camera's header says of each view what the set says, whatever Interfile's keys can say") {
  Quantity shows;
  shows[Correction::attenuation] = {CorrectionState::called_for, "photons are absorbed in the phantom"};
  shows[Correction::decay] = {CorrectionState::not_needed, "not simulated"};
  shows[Correction::dead_time] = {CorrectionState::made, "Corrected Image has DTIM"};
  shows.marks = {"the activity decays; from view to view"};
  const CameraStream read = read_camera_header(write_camera_header(uneven_set(), shows));
  CHECK(*read.set == uneven_set());
  CHECK((*read.quantity)[Correction::attenuation].state == CorrectionState::called_for);
  CHECK((*read.quantity)[Correction::decay].state == CorrectionState::not_needed);
  CHECK((*read.quantity)[Correction::dead_time] == CorrectionRecord{CorrectionState::made, "Corrected Image has DTIM"});
  REQUIRE(read.quantity->marks.size() == 1);
  CHECK(read.quantity->marks[0] == "the activity decays  from view to view");

  ViewSet even = uneven_set();
  even.windows.resize(1);
  even.places.clear();
  for (int v = 0; v < 120; ++v)
    even.places.push_back(
        {.angle_deg = 3.0F * static_cast<float>(v), .radius_mm = 150, .start_s = 10.0 * v, .duration_s = 10});
  CHECK(*read_camera_header(write_camera_header(even, {})).set == even);
  const std::string text = formats::interfile_stream_header(even, {});
  CHECK(text.find("tofstream view") == std::string::npos);  // keys alone say it
}

TEST_CASE("views come back to the last bit, whole numbers as uint16, others as float32") {
  const CameraStream camera = uneven_camera();
  std::mt19937 random(1);
  std::uniform_int_distribution<int> whole(0, 65535);
  std::uniform_real_distribution<float> real(0, 40);
  for (const bool is_whole : {true, false})
    for (const int window : {0, 1}) {
      ViewBatch batch =
          views_of(camera, {4, 0, 5}, [&] { return is_whole ? static_cast<float>(whole(random)) : real(random); });
      batch.window = window;
      const ViewFrame frame = write_views(batch, ViewPixels::automatic);
      CHECK(frame.header.schema == (is_whole ? views_of_integers : views_of_floats));
      CHECK(frame.header.events == batch.event_count());
      CHECK(frame.header.start_ns == 0);
      CHECK(frame.header.duration_ns == 38'500'000'000);  // view 5: 23.4 + 15.1 s
      const auto bytes = sealed(frame);
      std::string wrong;
      const ViewBatch read = read_views(decoded(bytes), camera, wrong);
      CHECK(wrong == "");
      CHECK(read.window == window);
      REQUIRE(read.records.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(read.records[i].view == batch.records[i].view);
        CHECK(read.records[i].exposure == batch.records[i].exposure);
        CHECK(read.records[i].counts == batch.records[i].counts);
      }
      CHECK(read.counts.to_vector() == batch.counts.to_vector());
    }
}

TEST_CASE("views that cannot be sent are refused") {
  const CameraStream camera = uneven_camera();
  ViewBatch batch = views_of(camera, {1}, [] { return 0.5F; });
  CHECK_THROWS_WITH_AS(write_views(batch, ViewPixels::uint16),
                       "a pixel is no whole number in [0, 65535]: send these views as float32", std::invalid_argument);
  CHECK_NOTHROW(write_views(batch, ViewPixels::float32));
  batch.additive = Buffer<float>(Memory::host, batch.count);
  CHECK_THROWS_AS(write_views(batch, ViewPixels::automatic), std::invalid_argument);
  batch.additive = {};
  batch.counts = {};
  CHECK_THROWS_AS(write_views(batch, ViewPixels::automatic), std::invalid_argument);
}

TEST_CASE("what no camera counted is told, and does not count") {
  const CameraStream camera = uneven_camera();
  struct Wrong {
    std::function<void(ViewFrame&)> spoil;
    const char* said;
  };
  const auto put = []<class T>(std::size_t at, T value) {
    return [=](ViewFrame& frame) { std::memcpy(frame.bytes.data() + header_bytes + at, &value, sizeof value); };
  };
  constexpr std::size_t exposures = 8, counts = exposures + 16, numbers = counts + 16, pixels = numbers + 8;
  for (const Wrong& wrong : {
           Wrong{put(0, 0U), "a number of views that its payload cannot hold"},
           Wrong{put(0, 4'000'000'000U), "a number of views that its payload cannot hold"},
           Wrong{put(4, 2U), "energy window 2, but the camera has 2 (from 0)"},
           Wrong{put(4, 0xffffffffU), "energy window 2147483647"},
           Wrong{put(exposures, -1.0), "view 2 has an exposure of -1"},
           Wrong{put(counts, std::uint64_t{9000}), "the header counts"},
           Wrong{put(numbers, 6U), "view 6, but the camera has 6 (from 0)"},
           Wrong{put(numbers, 0xffffffffU), "view 4294967295, but the camera has 6 (from 0)"},
           Wrong{put(pixels, -1.0F), "view 2 has a pixel of -1 counts"},
           Wrong{put(pixels + 4, std::numeric_limits<float>::quiet_NaN()), "view 2 has a pixel of nan counts"},
           Wrong{put(pixels, 100.0F), "view 2 says 8 counts, and its pixels have 107"},
           Wrong{[](ViewFrame& frame) { frame.bytes.resize(frame.bytes.size() - 4); },
                 "2 views of 5 x 3 pixels, and 116 bytes of pixels"},
           Wrong{[](ViewFrame& frame) { ++frame.header.events; }, "the header counts 17 events, and its views have 16"},
       }) {
    ViewFrame frame = write_views(views_of(camera, {2, 3}, [] { return 0.5F; }), ViewPixels::automatic);
    wrong.spoil(frame);
    const auto bytes = sealed(frame);
    std::string said;
    (void)read_views(decoded(bytes), camera, said);
    CHECK_MESSAGE(said.find(wrong.said) != std::string::npos, said);
  }
  ViewFrame empty = write_views(views_of(camera, {2}, [] { return 1.0F; }), ViewPixels::automatic);
  empty.bytes.resize(header_bytes + 28);
  empty.header.sequence = 1;
  CHECK_THROWS_WITH_AS(seal_frame(empty.header, empty.bytes), "frame 1: views without a pixel", std::invalid_argument);
}

TEST_CASE("a header that is no camera's, or that names a file of the receiver's, is refused") {
  const auto refused = [](const std::string& text, const char* said) {
    CHECK_THROWS_WITH_AS(read_camera_header(std::as_bytes(std::span(text))), doctest::Contains(said),
                         std::runtime_error);
  };
  refused("hello", "the stream's header:1: this is no Interfile header");
  std::string text = formats::interfile_stream_header(uneven_set(), {});
  refused(text.substr(0, text.find("!SPECT STUDY (General)")), "number of projections");
  const auto end = text.find("!END OF");
  refused(text.substr(0, end) + ";Non-Uniform Orbit File := /etc/passwd\n" + text.substr(end),
          "a stream's header names no files: list the radii in it");
  ViewSet twice = uneven_set();
  twice.places[2] = twice.places[0];
  refused(formats::interfile_stream_header(twice, {}), "views 0 and 2 have one place");
}
// SPDX-License-Identifier: Apache-2.0
