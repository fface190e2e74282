// Projection data in the dialects of Interfile: a point whose place is known is seen where it must be, every format of
// numbers is read, and what is wrong with a file is said with its place and a remedy.
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/private_folder.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

namespace fs = std::filesystem;

constexpr int view_columns = 16, view_rows = 8;  // of 10 mm
constexpr Vec3 known_point{35, -15, 15};         // to the patient's left, in front, towards the head

struct InterfileFolder {
  PrivateTemporaryFolder folder;

  fs::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return folder.path() / name;
  }
  /// A header with its data.
  fs::path scan(const std::string& header, std::string_view data) const {
    write("scan.s", data);
    return write("scan.hs", "!INTERFILE :=\n" + header + "!END OF INTERFILE :=\n");
  }
};

/// Views as little-endian floats, with one count at each (column, row).
std::string points_in_views(const std::vector<std::pair<int, int>>& at) {
  std::vector<float> pixels(at.size() * view_columns * view_rows);
  for (std::size_t view = 0; view < at.size(); ++view)
    pixels[(view * view_rows + static_cast<std::size_t>(at[view].second)) * view_columns +
           static_cast<std::size_t>(at[view].first)] = 5;
  return {reinterpret_cast<const char*>(pixels.data()), pixels.size() * sizeof(float)};
}

std::vector<ViewBatch> all_views(ViewReader& reader) {
  std::vector<ViewBatch> views;
  while (auto view = reader.next()) views.push_back(std::move(*view));
  CHECK(static_cast<std::int64_t>(views.size()) == reader.views());
  return views;
}

/// Whether each view of the reconstructed window has its count where our convention says that the known point is seen.
void sees_known_point(ViewReader& reader) {
  const ViewSet& set = *reader.set();
  for (const ViewBatch& batch : all_views(reader)) {
    const ViewPlace& place = set.places[static_cast<std::size_t>(batch.records[0].view)];
    CAPTURE(place.angle_deg);
    const double t = static_cast<double>(place.angle_deg) * std::acos(-1.0) / 180;
    const double u = -known_point.x * std::cos(t) + known_point.y * std::sin(t);
    const auto column = static_cast<int>(std::lround(u / set.pixel_mm.x + (set.size[0] - 1) / 2.0));
    const auto row = static_cast<int>(std::lround(known_point.z / set.pixel_mm.y + (set.size[1] - 1) / 2.0));
    CHECK(batch.counts[row * set.size[0] + column] == 5);
    CHECK(batch.records[0].counts == 5);
  }
}

const std::string stir_header =
    "!imaging modality := nucmed\n"
    "name of data file := scan.s\n"
    "!type of data := Tomographic\n"
    "imagedata byte order := LITTLEENDIAN\n"
    "!number format := float\n"
    "!number of bytes per pixel := 4\n"
    "!matrix size [1] := 16\n!scaling factor (mm/pixel) [1] := 10\n"
    "!matrix size [2] := 8\n!scaling factor (mm/pixel) [2] := 10\n"
    "!number of projections := 4\n!extent of rotation := 360\n"
    "!process status := acquired\n";
const std::string stir_orbit = "!direction of rotation := CW\nstart angle := 0\norbit := circular\nradius := 150\n";

/// In front of the patient, from the left, from the back, from the right: clockwise, seen from the feet.
const std::vector<std::pair<int, int>> front_left_back_right = {{11, 5}, {6, 5}, {4, 5}, {9, 5}};

std::vector<float> angles_in(const ViewReader& reader) {
  std::vector<float> angles;
  for (const ViewPlace& place : reader.set()->places) angles.push_back(place.angle_deg);
  return angles;
}

std::string with_replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

void refused_views(const fs::path& path, const std::string& said, const ViewOverrides& overrides = {}) {
  CAPTURE(said);
  std::string what = "nothing";
  try {
    const auto reader = open_views(path, overrides);
    while (reader->next()) {
    }
  } catch (const std::runtime_error& refused) {
    what = refused.what();
  }
  CHECK(what == said);
}

}  // namespace

TEST_CASE(
    "a header as STIR reads it: Interfile's angle 0 is in front of the patient, and a known point is where it is") {
  const InterfileFolder folder;
  const auto reader = open_views(folder.scan(stir_header + stir_orbit, points_in_views(front_left_back_right)));
  CHECK(angles_in(*reader) == std::vector<float>{180, 90, 0, 270});
  CHECK(reader->set()->places[2].radius_mm == 150);
  CHECK(reader->format() == "Interfile as STIR reads it");
  sees_known_point(*reader);
  CHECK_FALSE(reader->next());
  CHECK_NOTHROW((void)open_views(
      folder.scan(with_replaced(stir_header, "nucmed", "NM") + stir_orbit, points_in_views(front_left_back_right))));
}

TEST_CASE("a rotation the other way round sees the same point from the right before the left") {
  const InterfileFolder folder;
  const auto orbit = with_replaced(stir_orbit, "CW", "CCW");
  const auto reader = open_views(folder.scan(stir_header + orbit, points_in_views({{11, 5}, {9, 5}, {4, 5}, {6, 5}})));
  CHECK(angles_in(*reader) == std::vector<float>{180, 270, 0, 90});
  sees_known_point(*reader);
}

TEST_CASE("what the user knows better is taken: zero, start, direction, radius and turned rows and columns") {
  const InterfileFolder folder;
  const fs::path path = folder.scan(stir_header + stir_orbit, points_in_views(front_left_back_right));
  ViewOverrides overrides{.zero = AngleZero::dicom};
  CHECK(angles_in(*open_views(path, overrides)) == std::vector<float>{0, 270, 180, 90});
  overrides = {.start_angle_deg = 10, .direction = RotationDirection::ccw, .radius_mm = 200};
  const auto turned = open_views(path, overrides);
  CHECK(angles_in(*turned) == std::vector<float>{190, 280, 10, 100});
  CHECK(turned->set()->places[3].radius_mm == 200);
  const auto first = [&](bool u, bool w) { return open_views(path, {.flip_u = u, .flip_w = w})->next()->counts; };
  CHECK(first(true, false)[5 * 16 + 4] == 5);
  CHECK(first(false, true)[2 * 16 + 11] == 5);
  CHECK(first(true, true)[2 * 16 + 4] == 5);
}

TEST_CASE("a header of SIMIND: radius in cm, rows from the head down, keys in comments") {
  const InterfileFolder folder;
  folder.write("scan.a00", points_in_views({{11, 2}, {6, 2}, {4, 2}, {9, 2}}));
  const std::string header =
      "!INTERFILE :=\n!imaging modality := nucmed\n!originating system := simind\n!version of keys := 3.3\n"
      "program author := M Ljungberg, Lund University\n"
      "!GENERAL DATA :=\n!data offset in bytes := 0\n!name of data file := scan.a00\n"
      "!GENERAL IMAGE DATA :=\n!type of data := tomographic\n!total number of images := 4\n"
      "imagedata byte order := LITTLEENDIAN\n"
      ";energy window lower level := 126.45\n;energy window upper level := 154.55\n!number of energy windows := 1\n"
      "!matrix size [1] := 16\n!matrix size [2] := 8\n!number format := short float\n!number of bytes per pixel := 4\n"
      "scaling factor (mm/pixel) [1] := 10\nscaling factor (mm/pixel) [2] := 10\n"
      "!SPECT STUDY (General) :=\n!extent of rotation := 360\n!process status := acquired\n"
      "!number of projections := 4\n!SPECT STUDY (acquired data) :=\n!direction of rotation := CW\n"
      "start angle := 0.000000\n";
  const auto reader = open_views(folder.write("scan.h00", header + "Radius := 15.5\n!END OF INTERFILE :=\n"));
  CHECK(reader->format() == "Interfile of SIMIND");
  CHECK(reader->set()->places[0].radius_mm == 155);
  REQUIRE(reader->set()->windows.size() == 1);
  CHECK(reader->set()->windows[0] == EnergyWindow{126.45F, 154.55F});
  sees_known_point(*reader);

  const std::string orbit = "orbit := noncircular\n;# Non-Uniform Orbit File := body.cor\n";
  folder.write("body.cor", "  15.000  8\n  16.5 8\n\n 15.250 8\n 14\n");
  const auto around = open_views(folder.write("scan.h00", header + orbit));
  CHECK(around->set()->places[1].radius_mm == 165);
  CHECK(around->set()->places[3].radius_mm == 140);
  const auto in_folder = [&](const char* name) { return (folder.folder.path() / name).string(); };
  folder.write("body.cor", "15\n16\n17\n");
  refused_views(in_folder("scan.h00"), in_folder("body.cor") + ": 3 radii for 4 projections: list one for each");
  folder.write("body.cor", "15 8\n16 9.5\n");
  refused_views(in_folder("scan.h00"), in_folder("body.cor") +
                                           ":2: the axis lies at column 9.5, and only the middle "
                                           "(8) is read: shift the data");
  folder.write("body.cor", "15 8\nfar\n");
  refused_views(in_folder("scan.h00"), in_folder("body.cor") + ":2: a radius in cm must begin the line");
  fs::remove(in_folder("body.cor"));
  refused_views(in_folder("scan.h00"), in_folder("scan.h00") + ":30: its orbit's file " + in_folder("body.cor") +
                                           " cannot be read: put it beside the header, or give radius_mm");
  refused_views(folder.write("scan.h00", header + "Radius := 250\n"),
                in_folder("scan.h00") + ":29: SIMIND's radius is in cm, and 250 cm is no camera's: give radius_mm");
}

TEST_CASE("a header of GATE: windows and heads are repeated sections, window after window, and no radius is said") {
  const InterfileFolder folder;
  std::string header =
      "!INTERFILE :=\n!imaging modality := nucmed\ndata description := GATE simulation\n!data starting block := 0\n"
      "!name of data file := scan.sin\n;\n!type of data := TOMOGRAPHIC\n!total number of images := 8\n"
      "imagedata byte order := LITTLEENDIAN\nnumber of energy windows := 2\n;\n";
  for (const char* levels : {"[1] := 90", "[2] := 126"}) {
    header += fmt::format("energy window lower level {}\nenergy window upper level [{}] := 154\n", levels, levels[1]);
    header += "!SPECT STUDY (general) :=\nnumber of detector heads := 2\n;\n";
    for (const char* start : {"0", "180"})
      header += fmt::format(
          "!number of images/energy window := 4\n!process status := Acquired\n!matrix size [1] := 16\n"
          "!matrix size [2] := 8\n!number format := unsigned integer\n!number of bytes per pixel := 2\n"
          "scaling factor (mm/pixel) [1] := 10\nscaling factor (mm/pixel) [2] := 10\n!number of projections := 2\n"
          "!extent of rotation := 180\n!time per projection (sec) := 30\n!SPECT STUDY (acquired data) :=\n"
          "!direction of rotation := CW\nstart angle := {}\norbit := Circular\n;\n",
          start);
  }
  header += ";GATE GEOMETRY :=\n;head x dimension (cm) := 7\n!END OF INTERFILE :=\n";
  // Head 1 from the front and the left, head 2 from the back and the right: CW takes both the same way.
  std::string data;
  for (int window = 0; window < 2; ++window)
    for (const auto& [column, row] : front_left_back_right)
      for (int pixel = 0; pixel < view_columns * view_rows; ++pixel)
        data += std::string(1, pixel == row * view_columns + column ? '\x05' : '\0') + std::string(1, '\0');
  folder.write("scan.sin", data);
  const fs::path path = folder.write("scan.hdr", header);
  refused_views(path, path.string() +
                          ": it does not say how far from the axis the collimator's face was: give radius_mm "
                          "of the camera");
  const auto reader = open_views(path, {.radius_mm = 280, .window = 2});
  CHECK(reader->format() == "Interfile of GATE");
  const ViewSet& set = *reader->set();
  CHECK(angles_in(*reader) == std::vector<float>{180, 90, 0, 270});
  CHECK(set.places[1].head == 0);
  CHECK(set.places[1].start_s == 30);
  CHECK(set.places[2].head == 1);
  CHECK(set.places[2].start_s == 0);
  CHECK(set.places[2].duration_s == 30);
  REQUIRE(set.windows.size() == 2);
  CHECK(set.windows[0].low_keV == 126);  // the one that is reconstructed
  CHECK(set.windows[1].low_keV == 90);
  CHECK(reader->views() == 8);
  std::vector<int> windows;
  std::uint64_t counts = 0;
  for (const ViewBatch& view : all_views(*open_views(path, {.radius_mm = 280, .window = 2}))) {
    windows.push_back(view.window);
    counts += view.event_count();
  }
  CHECK(windows == std::vector<int>{1, 0, 1, 0, 1, 0, 1, 0});
  CHECK(counts == 20);
  sees_known_point(*reader);
  refused_views(path, path.string() + ": there is no energy window 3: the file has 2", {.radius_mm = 280, .window = 3});
}

TEST_CASE("numbers of every format and byte order are read, after any offset") {
  const InterfileFolder folder;
  struct Format {
    const char* words;
    int bytes;
    std::string one;  // 5 counts, big-endian
  };
  const auto text = [](std::initializer_list<int> bytes) {
    std::string all;
    for (const int byte : bytes) all += static_cast<char>(byte);
    return all;
  };
  for (const Format& format :
       {Format{"unsigned integer", 1, text({5})}, Format{"signed integer", 1, text({5})},
        Format{"unsigned integer", 2, text({0, 5})}, Format{"signed integer", 2, text({0, 5})},
        Format{"unsigned integer", 4, text({0, 0, 0, 5})}, Format{"signed integer", 4, text({0, 0, 0, 5})},
        Format{"signed integer", 8, text({0, 0, 0, 0, 0, 0, 0, 5})}, Format{"short float", 4, text({0x40, 0xa0, 0, 0})},
        Format{"long float", 8, text({0x40, 0x14, 0, 0, 0, 0, 0, 0})}})
    for (const bool is_big : {false, true}) {
      CAPTURE(format.words);
      CAPTURE(format.bytes);
      CAPTURE(is_big);
      std::string one = format.one;
      if (!is_big) std::ranges::reverse(one);
      std::string data(3 + 4 * 128 * one.size(), '\0');
      data.replace(3 + 130 * one.size(), one.size(), one);
      std::string header = with_replaced(stir_header, "format := float", fmt::format("format := {}", format.words));
      header = with_replaced(header, "pixel := 4", fmt::format("pixel := {}", format.bytes));
      if (is_big) header = with_replaced(header, "imagedata byte order := LITTLEENDIAN\n", "");  // the default
      const auto views = all_views(*open_views(folder.scan(header + stir_orbit + "data offset in bytes := 3\n", data)));
      CHECK(views[1].counts[2] == 5);
      CHECK(views[1].records[0].counts == 5);
      CHECK(views[0].records[0].counts == 0);
    }
}

TEST_CASE("what is wrong with projection data in Interfile is said in one line with its place and a remedy") {
  const InterfileFolder folder;
  const std::string data = points_in_views(front_left_back_right), good = stir_header + stir_orbit;
  const std::string file = (folder.folder.path() / "scan.hs").string();
  const std::string data_file = (folder.folder.path() / "scan.s").string();
  const auto refused = [&](const std::string& header, const std::string& said) {
    refused_views(folder.scan(header, data), file + said);
  };
  refused(with_replaced(good, "nucmed", "PET"),
          ":2: 'imaging modality' is PET: projection data of a gamma camera are of nucmed");
  refused(with_replaced(good, "acquired", "Reconstructed"),
          ":14: 'process status' is Reconstructed: this is an image, and no projection data");
  refused(with_replaced(good, "scan.s", "other.s"), ":3: there is no data file " +
                                                        (folder.folder.path() / "other.s").string() +
                                                        ": put it beside the header, or name it here");
  refused(with_replaced(good, "projections := 4", "projections := 5"),
          ": its data file " + data_file + " is cut short: 2560 bytes wanted, 2048 found");
  refused(with_replaced(good, "projections := 4", "projections := 3"),
          ": its data file " + data_file +
              " has 2048 bytes, and the header describes 1536: is its number of projections, "
              "matrix size or number of bytes per pixel right?");
  refused(good + "!total number of images := 8\n",
          ":19: 8 images in total, and 'number of projections' of all heads and windows makes 4: repeat the section of "
          "each head, or correct the number");
  refused(with_replaced(good, "extent of rotation := 360", "extent of rotation := 720"),
          ": views 1 and 3 have one place: head 0, 0 degrees; correct its angles or radii");
  refused(with_replaced(good, "projections := 4", "projections := 0"),
          ":12: 'number of projections' must be a whole number in [1, 100000], not '0'");
  refused(with_replaced(good, "radius := 150", "radius := -3"), ":18: a radius of -3 cannot be: give radius_mm");
  refused(with_replaced(good, "circular\nradius := 150", "non-circular\nradii := {150, 151, 152}"),
          ":18: 3 radii for 4 projections: list one for each");
  refused(with_replaced(good, "radius := 150\n", ""),
          ": it does not say how far from the axis the collimator's face was: give radius_mm of the camera");
  refused(with_replaced(good, "CW", "left"), ":15: 'direction of rotation' must be CW or CCW, not 'left'");
  refused(with_replaced(good, "LITTLE", "MIDDLE"),
          ":5: 'imagedata byte order' must be LITTLEENDIAN or BIGENDIAN, not 'MIDDLEENDIAN'");
  refused(with_replaced(good, "number format := float", "number format := ASCII"),
          ":6: numbers of the format 'ascii' are not read: store them as float, signed integer or unsigned integer");
  refused(with_replaced(good, "pixel := 4", "pixel := 2"), ":7: there is no float of 2 bytes");
  refused(with_replaced(good, "[2] := 10", "[2] := nan"),
          ":11: 'scaling factor (mm/pixel)' must be a finite number, not 'nan'");
  refused(good + "number of time frames := 2\n",
          ":19: 2 'number of time frames': write each into a file of its own, and reconstruct one");
  refused(good + "data compression := gzip\n", ":19: 'data compression' is gzip: store the data uncompressed");
  refused("!number of bytes per pixel := 4\n",
          ": it has no 'number of projections': is it a header of projection data?");
  refused(good + "!number of projections := 4\n",
          ":19: 'number of projections' comes 2 times, for 1 heads and 1 energy windows");
}

TEST_CASE("counts that are no numbers are refused with their place, negative ones too unless they are to be zero") {
  const InterfileFolder folder;
  std::string data = points_in_views(front_left_back_right);
  const auto put = [&](std::size_t pixel, float value) { std::memcpy(data.data() + pixel * 4, &value, 4); };
  put(128 + 2 * 16 + 3, -2.5F);
  fs::path path = folder.scan(stir_header + stir_orbit, data);
  refused_views(path, path.string() +
                          ": view 1 of the file, row 2, column 3: -2.5 counts, and counts are not negative: "
                          "'negative: zero' takes them as 0");
  const auto reader = open_views(path, {.negative = NegativeCounts::zero});
  const auto views = all_views(*reader);
  CHECK(views[1].counts[2 * 16 + 3] == 0);
  CHECK(views[1].records[0].counts == 5);
  CHECK(reader->clipped() == 2.5);
  put(0, std::nanf(""));
  path = folder.scan(stir_header + stir_orbit, data);
  refused_views(path, path.string() + ": view 0 of the file, row 0, column 0: nan is no number of counts");
}

TEST_CASE("fractional counts stay what they are, and a view's sum is rounded once for the books") {
  const InterfileFolder folder;
  std::string data = points_in_views(front_left_back_right);
  for (std::size_t pixel = 0; pixel < 64; ++pixel) {
    const float fraction = 0.04F;
    std::memcpy(data.data() + pixel * 4, &fraction, 4);
  }
  const auto views = all_views(*open_views(folder.scan(stir_header + stir_orbit, data)));
  CHECK(views[0].counts[7] == 0.04F);
  CHECK(views[0].records[0].counts == 8);  // 5 + 2.56
  CHECK(views[0].event_count() == 8);
  REQUIRE(views[0].quantity);
  CHECK((*views[0].quantity)[Correction::randoms].state == CorrectionState::not_needed);
  CHECK((*views[0].quantity)[Correction::scatter].state == CorrectionState::not_made);
  CHECK(unit_of(*views[0].quantity) == "relative");
}

TEST_CASE("a file that is no projection data is called what it is, with its header where that is beside it") {
  const InterfileFolder folder;
  const fs::path header = folder.scan(stir_header + stir_orbit, points_in_views(front_left_back_right));
  const fs::path data = folder.folder.path() / "scan.s";
  refused_views(data, data.string() +
                          ": this is unknown data; projection data are an Interfile header, DICOM NM, or "
                          "NIfTI with a YAML file (its header is beside it: " +
                          header.string() + ")");
  const fs::path json = folder.write("a.json", "{\"a\": 1}");
  refused_views(json, json.string() +
                          ": this is JSON; projection data are an Interfile header, DICOM NM, or NIfTI with a "
                          "YAML file");
  refused_views(folder.folder.path(), folder.folder.path().string() + ": not a file");
  refused_views(folder.folder.path() / "scan.hss",
                (folder.folder.path() / "scan.hss").string() + ": no such file, did you mean 'scan.hs'?");
}

TEST_CASE("STIR's own case has 120 views whose sum is known") {
  const fs::path data = interop_folder_or_skip();
  if (data.empty()) return;
  const auto reader = open_views(data / "spect" / "stir_spectub_input.hs");
  CHECK(reader->summary() ==
        "Interfile as STIR reads it: 120 views of 128 x 64 pixels of 3.32 x 3.32 mm, 1 head, radius 150 mm, the first "
        "view from the patient's back (0 degrees)");
  double sum = 0;
  std::uint64_t booked = 0;
  for (const ViewBatch& view : all_views(*reader)) {
    for (const float counts : view.counts.span()) sum += static_cast<double>(counts);
    booked += view.event_count();
  }
  CHECK(sum == approx(25'157'262.63).epsilon(1e-10));
  CHECK(booked == 25'157'265);
  CHECK(reader->set()->places[1].angle_deg == 357);
}
// SPDX-License-Identifier: Apache-2.0
