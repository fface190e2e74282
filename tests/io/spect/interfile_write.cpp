// Interfile as STIR reads it: what is written is read back the same, to the last bit, whatever the order of the views.
#include "gadgets/spect/io/interfile_write.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "core/base/private_folder.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

std::shared_ptr<const ViewSet> set_of_angles(const std::vector<float>& angles) {
  auto set = std::make_shared<ViewSet>();
  set->name = "a camera";
  set->collimator = "LEHR";
  set->size[0] = 5;
  set->size[1] = 3;
  set->pixel_mm = {3.32F, 4.418F, 0};
  set->windows = {{126.45F, 154.55F}};
  for (const float angle : angles) set->places.push_back({.angle_deg = angle, .radius_mm = 150, .duration_s = 12.5});
  return set;
}

std::vector<ViewBatch> random_views(const std::shared_ptr<const ViewSet>& set) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> number(0, 40);
  std::vector<ViewBatch> views;
  for (std::size_t v = 0; v < set->places.size(); ++v) {
    ViewBatch view;
    view.set = set;
    view.count = set->pixels();
    view.counts = Buffer<float>(Memory::host, view.count);
    double sum = 0;
    for (float& counts : view.counts.span()) sum += static_cast<double>(counts = number(random));
    view.records = {{.view = static_cast<std::int32_t>(v), .counts = static_cast<std::uint64_t>(std::llround(sum))}};
    views.push_back(std::move(view));
  }
  return views;
}

void write_backwards(const std::filesystem::path& path, const std::vector<ViewBatch>& views) {
  InterfileWriter writer(path, views[0].set, {});
  for (auto view = views.rbegin(); view != views.rend(); ++view) writer.write(*view);
  writer.commit();
}

bool same_counts(const ViewBatch& a, const ViewBatch& b) {
  return a.counts.size() == b.counts.size() && std::memcmp(a.counts.data(), b.counts.data(), a.counts.bytes()) == 0;
}

}  // namespace

TEST_CASE("views that are written as Interfile are read back the same, to the last bit") {
  const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "views.hs";
  for (const double extent : {360.0, 180.0, 202.5, 359.999})
    for (const RotationDirection direction : {RotationDirection::cw, RotationDirection::ccw})
      for (const int views : {1, 2, 7, 120}) {
        CAPTURE(extent);
        CAPTURE(views);
        auto set = std::make_shared<ViewSet>(*set_of_angles(view_angles(33.3, extent, views, direction, false)));
        if (views == 7) set->places[3].radius_mm = 163.25F;
        for (std::size_t v = 0; v < set->places.size(); ++v) set->places[v].start_s = 12.5 * static_cast<double>(v);
        const auto written = random_views(set);
        write_backwards(path, written);
        const auto reader = open_views(path);
        for (std::size_t v = 0; v < set->places.size(); ++v) {
          CHECK(reader->set()->places[v].angle_deg == set->places[v].angle_deg);
          CHECK(reader->set()->places[v].radius_mm == set->places[v].radius_mm);
          CHECK(reader->set()->places[v].start_s == set->places[v].start_s);
        }
        CHECK(reader->set()->name == set->name);
        CHECK(reader->set()->collimator == set->collimator);
        CHECK(reader->set()->pixel_mm == set->pixel_mm);
        CHECK(reader->set()->windows == set->windows);
        for (const ViewBatch& view : written) {
          const auto read = reader->next();
          REQUIRE(read);
          CHECK(same_counts(*read, view));
          CHECK(read->records[0].counts == view.records[0].counts);
        }
      }
}

TEST_CASE("two heads whose views go round together are written in the order of their angles") {
  const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "views.hs";
  auto set = std::make_shared<ViewSet>(*set_of_angles({180, 90, 0, 270}));
  set->places[2].head = set->places[3].head = 1;
  CHECK_NOTHROW((void)interfile_order(*set));
  set = std::make_shared<ViewSet>(*set_of_angles({0, 90, 45, 135, 180, 270, 225, 315}));
  const auto written = random_views(set);
  write_backwards(path, written);
  const auto reader = open_views(path);
  for (const std::size_t view : {0, 2, 1, 3, 4, 6, 5, 7}) {
    const auto read = reader->next();
    REQUIRE(read);
    CHECK(reader->set()->places[static_cast<std::size_t>(read->records[0].view)].angle_deg ==
          set->places[view].angle_deg);
    CHECK(same_counts(*read, written[view]));
  }
}

TEST_CASE("what Interfile's keys do not say of single views, and of simulated ones, stands in comments") {
  const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "views.hs";
  auto set = std::make_shared<ViewSet>(*set_of_angles({0, 90, 180, 270}));
  for (std::size_t v = 0; v < 4; ++v) {
    ViewPlace& place = set->places[v];
    place.start_s = 30 * static_cast<double>(v % 2);
    place.duration_s = 10 + 0.1 * static_cast<double>(v);
    place.head = static_cast<int>(v / 2);
    place.centre_u_mm = 1.7F * static_cast<float>(v);
  }
  Quantity shows;
  shows[Correction::attenuation] = {CorrectionState::called_for, "photons are absorbed"};
  shows[Correction::decay] = {CorrectionState::made, "by exposures, which a file does not hold"};
  shows.marks = {"the activity decays"};
  InterfileWriter writer(path, set, shows);
  CHECK(writer.notes().size() == 3);
  for (const ViewBatch& view : random_views(set)) writer.write(view);
  writer.commit();
  const auto reader = open_views(path);
  CHECK(reader->set()->places == set->places);
  std::vector<int> order;
  while (const auto view = reader->next()) {
    order.push_back(view->records[0].view);
    CHECK((*view->quantity)[Correction::attenuation].state == CorrectionState::called_for);
    CHECK((*view->quantity)[Correction::decay].state != CorrectionState::made);
    CHECK(view->quantity->marks == shows.marks);
  }
  CHECK(order == std::vector<int>{0, 2, 1, 3});  // the heads in turns
  CHECK(open_views(path, {.start_angle_deg = 10, .radius_mm = 200})->set()->places[1].radius_mm == 200);

  const auto with_list = [&](const char* list) {
    std::ifstream from(path);
    std::string text(std::istreambuf_iterator<char>(from), {});
    text.replace(text.find("; tofstream view heads"),
                 text.find('\n', text.find("view heads")) - text.find("; tofstream view heads"), list);
    std::ofstream(folder.path() / "wrong.hs") << text;
    std::filesystem::copy_file(folder.path() / "views.s", folder.path() / "wrong.s",
                               std::filesystem::copy_options::overwrite_existing);
    return open_views(folder.path() / "wrong.hs");
  };
  CHECK_THROWS_WITH_AS(with_list("; tofstream view heads := {0, 1}"),
                       doctest::Contains("2 values of 'tofstream view heads' for 4 projections: list one for each"),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(with_list("; tofstream view heads := {0, 1, x, 1}"), doctest::Contains("must be finite"),
                       std::runtime_error);
}

TEST_CASE("what Interfile cannot hold is refused in one line, and no file is left") {
  const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "views.hs";
  const auto refused = [](auto&& call, const std::string& said) {
    CHECK_THROWS_WITH_AS(call(), said.c_str(), std::runtime_error);
  };
  refused(
      [&] {
        InterfileWriter(path, set_of_angles({0, 10, 30, 200}), {});
      },
      "the views do not go round in equal steps, and Interfile knows no others");
  const auto views = random_views(set_of_angles({0, 90, 180}));
  {
    InterfileWriter writer(path, views[0].set, {});
    writer.write(views[1]);
    refused([&] { writer.write(views[1]); }, "view 1 came twice, and Interfile holds each once");
    refused(
        [&] {
          writer.write(random_views(set_of_angles({0, 90, 181}))[0]);
        },
        "views of another camera or scan came: one Interfile holds those of one");
    refused([&] { writer.commit(); }, "2 of 3 views never came: no Interfile is written");
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("STIR's own case is written as the bytes that it was") {
  const std::filesystem::path data = interop_folder_or_skip();
  if (data.empty()) return;
  const auto original = data / "spect" / "stir_spectub_input.hs";
  const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "again.hs";
  const auto reader = open_views(original);
  InterfileWriter writer(path, reader->set(), {});
  while (const auto view = reader->next()) writer.write(*view);
  writer.commit();
  const auto bytes_of_file = [](const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  CHECK(bytes_of_file(folder.path() / "again.s") == bytes_of_file(data / "spect" / "stir_spectub_input.s"));
  CHECK(open_views(path)->set()->places == reader->set()->places);
}
// SPDX-License-Identifier: Apache-2.0
