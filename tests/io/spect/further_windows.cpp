// Energy windows in files of their own: they join the scan's, and a file of another scan is refused.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/base/private_folder.hpp"
#include "gadgets/spect/io/view_reader.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

namespace fs = std::filesystem;

struct WindowFile {
  int views = 2, columns = 3, seconds = 20;
  double pixel_mm = 4;
  std::string energies = "energy window lower level [1] := 126\nenergy window upper level [1] := 154\n";
  std::string more = {};
};

/// Views of bytes `first`, `first` + 1, ...
fs::path window_file(const fs::path& folder, const std::string& name, char first, const WindowFile& like = {}) {
  std::ofstream(folder / (name + ".hs")) << fmt::format(
      "!INTERFILE :=\n!imaging modality := nucmed\nname of data file := {0}.s\n!number format := unsigned integer\n"
      "!number of bytes per pixel := 1\n!matrix size [1] := {1}\n!matrix size [2] := 2\n"
      "scaling factor (mm/pixel) [1] := {2}\nscaling factor (mm/pixel) [2] := {2}\n!number of projections := {3}\n"
      "!extent of rotation := 360\nradius := 150\ntime per projection (sec) := {4}\n{5}{6}!END OF INTERFILE :=\n",
      name, like.columns, like.pixel_mm, like.views, like.seconds, like.energies, like.more);
  std::string bytes;
  for (int view = 0; view < like.views; ++view)
    bytes += std::string(static_cast<std::size_t>(2 * like.columns), static_cast<char>(first + view));
  std::ofstream(folder / (name + ".s")) << bytes;
  return folder / (name + ".hs");
}

const WindowFile below{.energies = "energy window lower level [1] := 92\nenergy window upper level [1] := 125\n"};

}  // namespace

TEST_CASE("windows in files of their own come before the photopeak's view, with their own energies") {
  const PrivateTemporaryFolder folder;
  const auto scan = open_views(window_file(folder.path(), "peak", 10));
  scan->add_windows_of(open_views(window_file(folder.path(), "low", 20, below)));
  scan->add_windows_of(open_views(window_file(folder.path(), "high", 30, {.energies = ""})));
  REQUIRE(scan->views() == 6);
  REQUIRE(scan->set()->windows.size() == 3);
  CHECK(scan->set()->windows[1] == EnergyWindow{92, 125});
  CHECK(scan->set()->windows[2] == EnergyWindow{});
  for (int view = 0; view < 2; ++view)
    for (const auto& [window, counts] : {std::pair{2, 30}, {1, 20}, {0, 10}}) {
      const auto batch = scan->next();
      REQUIRE(batch);
      CHECK(batch->window == window);
      CHECK(batch->records[0].view == view);
      CHECK(batch->counts[0] == static_cast<float>(counts + view));
      CHECK(batch->set == scan->set());
    }
  CHECK_FALSE(scan->next());

  scan->set_energies({{126, 154}, {92, 125}, {155, 170}});
  CHECK(scan->set()->windows[2] == EnergyWindow{155, 170});
  CHECK_THROWS_WITH(scan->set_energies({{126, 154}}),
                    "windows_keV has the limits of 1 energy windows, and there are 3: give two numbers for each, the "
                    "reconstructed one's first");
  CHECK_THROWS_WITH(scan->set_energies({{126, 154}, {92, 92}, {155, 170}}),
                    "windows_keV: 92 to 92 keV is no energy window");
}

TEST_CASE("an energy window's file of another scan is refused, with what differs") {
  const PrivateTemporaryFolder folder;
  const auto scan = open_views(window_file(folder.path(), "peak", 10));
  const auto refused = [&](const WindowFile& other) -> std::string {
    try {
      scan->add_windows_of(open_views(window_file(folder.path(), "other", 20, other)));
    } catch (const std::runtime_error& why) {
      return why.what();
    }
    return "taken";
  };
  CHECK(refused({.views = 3}) ==
        fmt::format("{0}/other.hs: it has 3 views, and the scan 2: an energy window's file is of the same scan as "
                    "{0}/peak.hs",
                    folder.path().string()));
  CHECK(refused({.columns = 4}).find("it has views of 4 x 2 pixels, and the scan of 3 x 2") != std::string::npos);
  CHECK(refused({.pixel_mm = 4.1}).find("it has pixels of 4.1 mm, and the scan of 4 mm") != std::string::npos);
  CHECK(refused({.seconds = 1}).find("it has 1 s for view 0, and the scan 20 s") != std::string::npos);
  CHECK(refused({.more = "start angle := 90\n"}).find("it has view 0 at 270 degrees of head 1, and the scan at 180") !=
        std::string::npos);
  CHECK(refused({}) == "taken");
}

TEST_CASE("what was negative in any of the files is counted") {
  const PrivateTemporaryFolder folder;
  const ViewOverrides zero{.negative = NegativeCounts::zero};
  const auto scan = open_views(window_file(folder.path(), "peak", 10), zero);
  const fs::path low = window_file(folder.path(), "low", static_cast<char>(-3), below);
  std::string header;
  {
    std::ifstream file(low);
    header.assign(std::istreambuf_iterator<char>(file), {});
  }
  header.replace(header.find("unsigned integer"), 16, "signed integer  ");
  std::ofstream(low) << header;
  scan->add_windows_of(open_views(low, zero));
  while (scan->next()) {
  }
  CHECK(scan->clipped() == 6 * 3 + 6 * 2);
}
// SPDX-License-Identifier: Apache-2.0
