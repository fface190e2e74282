// Scanners as CASToR describes them: see geometry.hpp.
#include "gadgets/io/castor/geometry.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/printable.hpp"
#include "gadgets/io/castor/text_header.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::castor {
namespace {

constexpr std::uint64_t most_crystals = std::uint64_t{1} << 26, most_layers = 16;
constexpr std::size_t lut_floats = 6;  // of a crystal: its centre, and its depth's direction

// Keywords that only matter to CASToR's choice of an image, and words for people.
constexpr const char* not_needed[] = {
    "description",         "voxels number transaxial", "voxels number axial", "field of view transaxial",
    "field of view axial", "crystals size transaxial", "crystals size trans", "number of rings in scanner"};

void add_unread(const TextHeader& text, Geometry& geometry) {
  for (const char* key : not_needed) (void)text.find({key});
  for (const TextEntry* entry : text.unread()) geometry.unread.push_back(entry->key + ": " + entry->value);
}

// What both kinds of files say: layers, how deep they are, and which pairs count.
Geometry common_of(const TextHeader& text, const std::filesystem::path& file) {
  Geometry geometry{.file = file};
  const TextEntry& modality = text.require({"modality"});
  if (modality.value != "PET")
    text.refuse(&modality, fmt::format("modality is '{}', and only PET is read", printable(modality.value)));
  const TextEntry* name = text.find({"scanner name"});
  geometry.name = name ? name->value : file.stem().string();
  geometry.layers.resize(text.whole(text.require({"number of layers"}), 1, most_layers));
  const std::size_t layers = geometry.layers.size();
  const TextEntry& depth = text.require({"crystals size depth"});
  const std::vector<double> depths = text.numbers(depth, layers);
  const std::vector<double> interactions = text.numbers_or({"mean depth of interaction"}, layers, -1);
  const std::vector<double> axial = text.numbers_or({"crystals size axial"}, layers, 0);
  for (std::size_t l = 0; l < layers; ++l) {
    Layer& layer = geometry.layers[l];
    if (!(depths[l] > 0)) text.refuse(&depth, fmt::format("a depth of {} mm: crystals have a positive one", depths[l]));
    layer.depth_mm = depths[l];
    layer.interaction_mm = interactions[l] < 0 ? depths[l] / 2 : interactions[l];  // as CASToR takes a negative one
    layer.axial_mm = axial[l];
  }
  geometry.least_angle_deg = text.number_or({"min angle difference"}, 0);
  return geometry;
}

/// Equal pieces side by side, with gaps between them.
struct Row {
  std::uint64_t count = 1;
  double piece_mm = 0, gap_mm = 0;
  double pitch_mm() const { return piece_mm + gap_mm; }
  double length_mm() const { return static_cast<double>(count) * pitch_mm() - gap_mm; }
};

/// The rows of one layer of a .geom file, from crystals to sectors, in one direction. A sector is of modules, these of
/// submodules, and these of crystals.
struct Rows {
  Row crystals, submodules, modules, sectors;

  std::uint64_t count() const { return crystals.count * submodules.count * modules.count * sectors.count; }
  /// The same where hostile numbers would overflow.
  double rough_count() const {
    double product = 1;
    for (const Row* row : {&crystals, &submodules, &modules, &sectors}) product *= static_cast<double>(row->count);
    return product;
  }
  /// The distance of crystal i's middle from that of the whole row.
  double middle_mm(std::uint64_t i) const {
    double at = crystals.piece_mm / 2;
    for (const Row* row : {&crystals, &submodules, &modules, &sectors}) {
      at += static_cast<double>(i % row->count) * row->pitch_mm();
      i /= row->count;
    }
    return at - sectors.length_mm() / 2;
  }
};

/// Reads numbers of a .geom file that each layer has.
class LayerNumbers {
 public:
  LayerNumbers(const TextHeader& text, std::size_t layers) : text_(text), layers_(layers) {}

  std::uint64_t count(std::string_view key, std::size_t layer, bool is_required = false) const {
    constexpr double most = 1e6;
    const TextEntry* entry = is_required ? &text_.require({key}) : text_.find({key});
    if (!entry) return 1;
    const double value = text_.numbers(*entry, layers_)[layer];
    if (!(value >= 1 && value <= most && value == std::floor(value)))
      text_.refuse(entry, fmt::format("{} is {}: it is a whole number, at least 1", key, value));
    return static_cast<std::uint64_t>(value);
  }
  double mm(std::string_view key, std::size_t layer) const { return text_.numbers_or({key}, layers_, 0)[layer]; }
  double size_mm(std::initializer_list<std::string_view> key, std::size_t layer) const {
    const TextEntry& entry = text_.require(key);
    const double value = text_.numbers(entry, layers_)[layer];
    if (!(value > 0)) text_.refuse(&entry, fmt::format("{} is {}: it is positive", entry.key, value));
    return value;
  }

 private:
  const TextHeader& text_;
  std::size_t layers_;
};

Rows rows_of(const LayerNumbers& read, std::size_t layer, std::string_view direction, double crystal_mm) {
  const auto key = [&](std::string_view what) { return fmt::format("{} {}", what, direction); };
  Rows rows;
  rows.crystals = {read.count(key("number of crystals"), layer, true), crystal_mm, read.mm(key("crystal gap"), layer)};
  rows.submodules = {read.count(key("number of submodules"), layer), rows.crystals.length_mm(),
                     read.mm(key("submodule gap"), layer)};
  rows.modules = {read.count(key("number of modules"), layer), rows.submodules.length_mm(),
                  read.mm(key("module gap"), layer)};
  rows.sectors = {1, rows.modules.length_mm(), 0};
  return rows;
}

// How far each sector around the axis is shifted along it, in turn.
std::vector<double> shifts_of(const TextHeader& text) {
  constexpr std::uint64_t most_shifts = 1000;
  const TextEntry* count = text.find({"rsectors nbZShift"});
  const TextEntry* shift = text.find({"rsectors ZShift"});
  const std::uint64_t shifts = count ? text.whole(*count, 0, most_shifts) : 0;
  if (shifts > 0) return text.numbers(text.require({"rsectors ZShift"}), shifts);
  if (shift && shift->value.find_first_not_of("0., ") != std::string::npos)
    text.refuse(shift, "rsectors ZShift is given without rsectors nbZShift, which says how many there are");
  return {0};
}

/// +1 where sectors follow one another clockwise as seen from the front, which is the default; -1 where they do not.
double direction_of(const TextHeader& text) {
  const TextEntry* entry = text.find({"rotation direction"});
  if (!entry || entry->value.empty() || entry->value == "CW") return 1;
  if (entry->value == "CCW") return -1;
  text.refuse(entry, fmt::format("rotation direction is '{}': it is CW or CCW", printable(entry->value)));
}

// A layer's crystals, ring after ring along z, and sector after sector in a ring.
void add_layer(const TextHeader& text, std::size_t l, Geometry& geometry) {
  const LayerNumbers read(text, geometry.layers.size());
  const auto crystal_mm = [&](std::initializer_list<std::string_view> key) { return read.size_mm(key, l); };
  const Rows across = rows_of(read, l, "transaxial", crystal_mm({"crystals size trans", "crystals size transaxial"}));
  Rows along = rows_of(read, l, "axial", crystal_mm({"crystals size axial"}));
  along.sectors = {read.count("number of rsectors axial", l), along.modules.length_mm(),
                   read.mm("rsector gap axial", l)};
  const std::uint64_t sectors = read.count("number of rsectors", l, true);
  const double radius = read.size_mm({"scanner radius"}, l) + geometry.layers[l].depth_mm / 2;
  const double first_deg = read.mm("rsectors first angle", l);
  const double span_deg = text.numbers_or({"rsectors angular span"}, geometry.layers.size(), 360)[l];
  const double direction = direction_of(text);
  const std::vector<double> shifts = shifts_of(text);
  if (along.rough_count() * static_cast<double>(sectors) * across.rough_count() +
          static_cast<double>(geometry.crystals.size()) >
      static_cast<double>(most_crystals))
    text.refuse(nullptr, "more than 2^26 crystals");
  const std::uint64_t count = along.count() * sectors * across.count();
  geometry.layers[l].crystals = static_cast<std::uint32_t>(count);
  for (std::uint64_t ring = 0; ring < along.count(); ++ring)
    for (std::uint64_t s = 0; s < sectors; ++s) {
      const double angle =
          (first_deg + static_cast<double>(s) * span_deg / static_cast<double>(sectors)) * std::numbers::pi / 180;
      const double sine = direction * std::sin(angle), cosine = std::cos(angle);
      const auto z = static_cast<float>(along.middle_mm(ring) + shifts[s % shifts.size()]);
      for (std::uint64_t t = 0; t < across.count(); ++t) {
        const double x = direction * across.middle_mm(t);
        geometry.crystals.push_back(
            {{static_cast<float>(x * cosine + radius * sine), static_cast<float>(radius * cosine - x * sine), z},
             {static_cast<float>(sine), static_cast<float>(cosine), 0}});
      }
    }
}

Geometry read_geom(const std::filesystem::path& file) {
  const TextHeader text = TextHeader::read(file);
  Geometry geometry = common_of(text, file);
  const TextEntry& elements = text.require({"number of elements"});
  const std::uint64_t said = text.whole(elements, 1, most_crystals);
  for (std::size_t l = 0; l < geometry.layers.size(); ++l) add_layer(text, l, geometry);
  if (geometry.crystals.size() != said)
    text.refuse(&elements, fmt::format("number of elements is {}, and the sectors, modules and crystals of this file "
                                       "make {}",
                                       said, geometry.crystals.size()));
  add_unread(text, geometry);
  return geometry;
}

void read_table(const std::filesystem::path& file, const TextHeader& text, Geometry& geometry) {
  require_readable(file, fmt::format("{} is the header of a table beside it", text.file()));
  const std::uint64_t crystals = text.whole(text.require({"number of elements"}), 1, most_crystals);
  const std::uintmax_t size = std::filesystem::file_size(file);
  if (size != crystals * lut_floats * sizeof(float))
    throw std::runtime_error(
        fmt::format("{}: {} bytes, and the table of the {} crystals that {} says has {} (6 float "
                    "for each)",
                    file.string(), size, crystals, text.file(), crystals * lut_floats * sizeof(float)));
  std::vector<float> table(crystals * lut_floats);
  std::ifstream from(file, std::ios::binary);
  from.read(reinterpret_cast<char*>(table.data()), static_cast<std::streamsize>(size));
  if (!from) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  for (std::uint64_t c = 0; c < crystals; ++c) {
    const float* const at = &table[c * lut_floats];
    for (std::size_t k = 0; k < lut_floats; ++k)
      if (constexpr float furthest_mm = 1e5f; !(std::abs(at[k]) <= furthest_mm))
        throw std::runtime_error(
            fmt::format("{}: crystal {} has {} where a place in mm is expected: the table is 6 "
                        "little-endian float for each crystal",
                        file.string(), c, at[k]));
    geometry.crystals.push_back({{at[0], at[1], at[2]}, {at[3], at[4], at[5]}});
  }
}

Geometry read_hscan(const std::filesystem::path& file) {
  const TextHeader text = TextHeader::read(file);
  Geometry geometry = common_of(text, file);
  const TextEntry& of_layers = text.require({"number of crystals in layer", "number of crystals in layer(s)"});
  std::uint64_t sum = 0;
  const std::vector<double> counts = text.numbers(of_layers, geometry.layers.size());
  for (std::size_t l = 0; l < counts.size(); ++l) {
    if (!(counts[l] >= 1 && counts[l] <= most_crystals && counts[l] == std::floor(counts[l])))
      text.refuse(&of_layers, fmt::format("a layer of {} crystals: it is a whole number, at least 1", counts[l]));
    geometry.layers[l].crystals = static_cast<std::uint32_t>(counts[l]);
    sum += geometry.layers[l].crystals;
  }
  read_table(std::filesystem::path(file).replace_extension(".lut"), text, geometry);
  if (sum != geometry.crystals.size())
    text.refuse(&of_layers,
                fmt::format("the layers have {} crystals, and the scanner {}", sum, geometry.crystals.size()));
  (void)text.find({"scanner radius"});
  add_unread(text, geometry);
  return geometry;
}

// The .geom file where both are there, as CASToR chooses.
std::filesystem::path in_folder(const std::filesystem::path& folder, const std::string& scanner) {
  for (const char* ending : {".geom", ".hscan"})
    if (const auto file = folder / (scanner + ending); std::filesystem::exists(file)) return file;
  return {};
}

}  // namespace

Geometry read_geometry(const std::filesystem::path& file) {
  if (file.extension() == ".geom") return read_geom(file);
  if (file.extension() == ".hscan") return read_hscan(file);
  if (file.extension() == ".lut") return read_hscan(std::filesystem::path(file).replace_extension(".hscan"));
  throw std::runtime_error(
      fmt::format("{}: a scanner's file of CASToR ends in .geom, or in .hscan with a .lut beside it", file.string()));
}

std::filesystem::path find_geometry(const DataHeader& header, const std::filesystem::path& asked) {
  if (!asked.empty() && !std::filesystem::is_directory(asked)) return asked;
  const bool is_name = !header.scanner.empty() && header.scanner.find('/') == std::string::npos;
  std::vector<std::filesystem::path> folders = {asked};
  if (asked.empty()) {
    folders = {header.file.has_parent_path() ? header.file.parent_path() : "."};
    if (const char* config = std::getenv("CASTOR_CONFIG"); config && *config)
      folders.push_back(std::filesystem::path(config) / "scanner");
  }
  for (const auto& folder : folders)
    if (auto file = is_name ? in_folder(folder, header.scanner) : std::filesystem::path(); !file.empty()) return file;
  std::vector<std::string> names;
  for (const auto& folder : folders) names.push_back(folder.string());
  throw std::runtime_error(fmt::format(
      "{}: its scanner is '{}', and neither {}.geom nor {}.hscan lies in {}: name the scanner's file or its "
      "folder by `geometry`",
      header.file.string(), printable(header.scanner), printable(header.scanner), printable(header.scanner),
      fmt::join(names, " or ")));
}

GeometryFiles geometry_files(const Geometry& geometry, const double (&field_mm)[2], const int (&voxels)[2]) {
  const auto of_layers = [&](auto value) {
    std::vector<std::string> values;
    for (const Layer& layer : geometry.layers) values.push_back(fmt::format("{}", value(layer)));
    return fmt::format("{}", fmt::join(values, ","));
  };
  GeometryFiles files;
  files.hscan = fmt::format(
      "modality: PET\nscanner name: {}\ndescription: points where lines of response end, written by tofstream\n"
      "number of elements: {}\nnumber of layers: {}\nnumber of crystals in layer(s): {}\ncrystals size depth: {}\n"
      "mean depth of interaction: {}\n",
      geometry.name, geometry.crystals.size(), geometry.layers.size(),
      of_layers([](const Layer& layer) { return layer.crystals; }),
      of_layers([](const Layer& layer) { return layer.depth_mm; }),
      of_layers([](const Layer& layer) { return layer.interaction_mm; }));
  files.hscan += fmt::format(
      "min angle difference: {}\nvoxels number transaxial: {}\nvoxels number axial: {}\nfield of view transaxial: {}\n"
      "field of view axial: {}\n",
      geometry.least_angle_deg, voxels[0], voxels[1], field_mm[0], field_mm[1]);
  files.lut.resize(geometry.crystals.size() * lut_floats * sizeof(float));
  std::byte* next = files.lut.data();
  for (const Crystal& crystal : geometry.crystals)
    for (const Vec3& v : {crystal.centre_mm, crystal.outward})
      for (int axis = 0; axis < 3; ++axis, next += sizeof(float)) {
        const float value = v[axis];
        std::memcpy(next, &value, sizeof value);
      }
  return files;
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
