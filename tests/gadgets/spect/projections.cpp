// Views from a file and into one: a message a view, balanced books, and what the user knows better than the file.
#include <filesystem>
#include <fstream>

#include "core/base/private_folder.hpp"
#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/views.hpp"

using namespace tofstream;

namespace {

/// Three views of 4 x 2 pixels, all 2, 3 and 4 counts.
std::filesystem::path small_scan(const std::filesystem::path& folder, const std::string& more = "radius := 150\n") {
  std::ofstream header(folder / "scan.hs");
  header
      << "!INTERFILE :=\n!imaging modality := nucmed\nname of data file := scan.s\n!number format := unsigned integer\n"
         "!number of bytes per pixel := 1\n!matrix size [1] := 4\n!matrix size [2] := 2\n"
         "scaling factor (mm/pixel) [1] := 4\nscaling factor (mm/pixel) [2] := 4\n!number of projections := 3\n"
         "!extent of rotation := 360\n"
      << more << "!END OF INTERFILE :=\n";
  std::ofstream(folder / "scan.s") << std::string(8, '\2') + std::string(8, '\3') + std::string(8, '\4');
  return folder / "scan.hs";
}

}  // namespace

TEST_CASE("projections_source gives a view a message, books its counts and says what the file is") {
  const PrivateTemporaryFolder folder;
  RegisteredGadgetTest<ViewBatch> test("projections_source",
                                       "{path: " + small_scan(folder.path()).string() + ", direction: ccw}");
  test.run();
  REQUIRE(test.out.size() == 3);
  CHECK(test.out[2].records[0].view == 2);
  CHECK(test.out[2].event_count() == 32);
  CHECK(test.out[2].set->places[2].angle_deg == 60);
  CHECK(test.out[0].set == test.out[2].set);
  CHECK(test.context.recorded().received == 16 + 24 + 32);
  CHECK(std::get<std::int64_t>(test.context.figures().at("counts")) == 72);
  CHECK(std::get<std::string>(test.context.figures().at("format")) == "Interfile as STIR reads it");
}

TEST_CASE("projections_source refuses a file without a radius before anything runs, unless it is given one") {
  const PrivateTemporaryFolder folder;
  const std::string path = small_scan(folder.path(), "").string();
  CHECK_THROWS_WITH_AS(
      RegisteredGadgetTest<ViewBatch>("projections_source", "{path: " + path + "}"),
      (path + ": it does not say how far from the axis the collimator's face was: give radius_mm of the camera")
          .c_str(),
      std::runtime_error);
  CHECK_NOTHROW(RegisteredGadgetTest<ViewBatch>("projections_source", "{path: " + path + ", radius_mm: 200}"));
}

TEST_CASE(
    "projections_source joins files of further energy windows, read as the scan's file is, and takes their limits") {
  const PrivateTemporaryFolder folder;
  const std::string path = small_scan(folder.path()).string();
  const std::string both = "{path: " + path + ", lower_window: " + path + ", flip_u: true, windows_keV: ";
  RegisteredGadgetTest<ViewBatch> test("projections_source", both + "[126, 154, 92, 125]}");
  test.run();
  REQUIRE(test.out.size() == 6);
  CHECK(test.out[0].window == 1);
  CHECK(test.out[1].window == 0);
  CHECK(test.out[1].records[0].view == test.out[0].records[0].view);
  CHECK(test.out[1].set->windows == std::vector<EnergyWindow>{{126, 154}, {92, 125}});
  CHECK(test.context.recorded().received == 16 + 24 + 32);  // those of the window that is reconstructed
  using Source = RegisteredGadgetTest<ViewBatch>;
  CHECK_THROWS_WITH(Source("projections_source", both + "[126, 154, 92]}"),
                    "windows_keV needs two numbers for each energy window, its lower and upper limit");
  CHECK_THROWS_WITH(Source("projections_source", both + "[126, 154]}"),
                    doctest::Contains("windows_keV has the limits of 1 energy windows, and there are 2"));
}

TEST_CASE("projections_writer writes what projections_source reads, and both balance their books") {
  const PrivateTemporaryFolder folder;
  RegisteredGadgetTest<ViewBatch> source("projections_source", "{path: " + small_scan(folder.path()).string() + "}");
  source.run();
  RegisteredGadgetTest<void> writer("projections_writer", "{file: out.hs}", folder.path());
  for (const auto& view : source.out.all()) writer.send(view);
  writer.finish();
  CHECK(writer.context.recorded().written == 72);
  RegisteredGadgetTest<ViewBatch> again("projections_source", "{path: " + (folder.path() / "out.hs").string() + "}");
  again.run();
  REQUIRE(again.out.size() == 3);
  CHECK(again.out[1].counts[3] == 3);
  CHECK(again.out[1].set->places == source.out[1].set->places);
}

TEST_CASE(
    "a pipeline from a file of views into another balances its books, and leaves nothing where the data are wrong") {
  const PrivateTemporaryFolder folder;
  const auto run = [&](const std::string& out) {
    return Engine(parse_pipeline(fmt::format("gadgets:\n  views: {{use: projections_source, path: {0}/scan.hs}}\n"
                                             "  file: {{use: projections_writer, from: views, file: {0}/{1}}}\n",
                                             folder.path().string(), out),
                                 "test.yaml"),
                  {})
        .run();
  };
  small_scan(folder.path());
  const RunReport report = run("out.hs");
  CHECK(report.exit_code == 0);
  CHECK(report.books.balanced());
  CHECK(report.books.received == 72);
  CHECK(std::filesystem::exists(folder.path() / "out.s"));
  std::string header;
  {
    std::ifstream file(folder.path() / "scan.hs");
    header.assign(std::istreambuf_iterator<char>(file), {});
  }
  header.replace(header.find("unsigned integer"), 16, "signed integer  ");
  std::ofstream(folder.path() / "scan.hs") << header;
  std::ofstream(folder.path() / "scan.s") << std::string(20, '\2') + std::string(4, '\xff');
  const RunReport failed = run("bad.hs");
  CHECK(failed.exit_code != 0);
  REQUIRE_FALSE(failed.errors.empty());
  CHECK(failed.errors[0].text().find("view 2 of the file, row 1, column 0: -1 counts") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "bad.hs"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "bad.s"));
}

TEST_CASE("projections_writer without views writes nothing") {
  const PrivateTemporaryFolder folder;
  RegisteredGadgetTest<void> writer("projections_writer", "{}", folder.path());
  writer.finish();
  CHECK(std::filesystem::is_empty(folder.path()));
}
// SPDX-License-Identifier: Apache-2.0
