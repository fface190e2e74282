// Checkpoints: see checkpoint.hpp.
#include "gadgets/io/checkpoint.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/quantity_json.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream {
namespace {

// As it lies in the file, little-endian.
struct Header {
  std::array<char, 4> magic = {'T', 'O', 'F', 'C'};
  std::uint32_t version = 3;  // 2: the JSON is the quantity alone
  std::int64_t update = 0;
  std::int32_t iteration = 0;
  std::int32_t size[3] = {};
  float voxel_mm[3] = {};
  float origin_mm[3] = {};
  float blob_radius_mm = 0, blob_alpha = 0;
  std::uint32_t json_bytes = 0;  // behind the voxels
  std::uint32_t checksum = 0;    // CRC32C of the header before it, of the voxels and of the JSON
};
static_assert(sizeof(Header) == 72 && std::endian::native == std::endian::little);

std::uint32_t checksum_of(const Header& header, std::span<const std::byte> voxels, const std::string& json) {
  const auto bytes = std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum));
  return wire::crc32c(std::as_bytes(std::span(json)), wire::crc32c(voxels, wire::crc32c(bytes)));
}

Grid grid_of(const Header& h) {
  return {{h.size[0], h.size[1], h.size[2]},
          {h.voxel_mm[0], h.voxel_mm[1], h.voxel_mm[2]},
          {h.origin_mm[0], h.origin_mm[1], h.origin_mm[2]},
          {h.blob_radius_mm, h.blob_alpha}};
}

// What the file says besides numbers.
nlohmann::ordered_json said_of(const CheckpointStep& step, const Quantity* quantity) {
  nlohmann::ordered_json said = {{"rejected", step.rejected.events}, {"reason", step.rejected.reason}};
  if (quantity) said["quantity"] = to_json(*quantity);
  if (!step.kept.empty()) said["kept"] = step.kept;
  if (step.events > 0) said["events"] = step.events;
  if (!step.algorithm.empty()) said["algorithm"] = step.algorithm;
  if (const CheckpointFrame& frame = step.frame; frame.number > 0)
    said["frame"] = {{"number", frame.number},
                     {"frames", frame.frames},
                     {"start_s", frame.start_s},
                     {"duration_s", frame.duration_s}};
  return said;
}

CheckpointFrame frame_in(const nlohmann::ordered_json& said) {
  if (!said.contains("frame")) return {};
  const auto& frame = said.at("frame");
  return {frame.at("number"), frame.at("frames"), frame.at("start_s"), frame.at("duration_s")};
}

void take(Checkpoint& checkpoint, const nlohmann::ordered_json& said, std::uint32_t version) {
  const bool has_quantity = version == 2 || said.contains("quantity");
  if (has_quantity)
    checkpoint.quantity =
        std::make_shared<const Quantity>(quantity_from_json(version == 2 ? said : said.at("quantity")));
  if (version == 2) return;
  CheckpointStep& step = checkpoint.step;
  step.rejected = {said.at("rejected"), said.at("reason")};
  if (said.contains("kept")) step.kept = said.at("kept").get<std::map<std::string, double>>();
  step.events = said.value("events", std::uint64_t{0});
  step.algorithm = said.value("algorithm", std::string());
  step.frame = frame_in(said);
}

std::filesystem::path file_of(const std::filesystem::path& file_or_folder) {
  return std::filesystem::is_directory(file_or_folder) ? file_or_folder / checkpoint_name : file_or_folder;
}

constexpr auto* of_frame = "_frame_";

}  // namespace

std::filesystem::path frame_checkpoint(const std::filesystem::path& file_or_folder, int frame) {
  const auto file = file_of(file_or_folder);
  return file.parent_path() /
         fmt::format("{}{}{:04}{}", file.stem().string(), of_frame, frame, file.extension().string());
}

bool has_frame_checkpoints(const std::filesystem::path& file_or_folder) {
  const auto file = file_of(file_or_folder);
  std::error_code not_there;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), not_there))
    if (entry.path().extension() == file.extension() &&
        entry.path().filename().string().starts_with(file.stem().string() + of_frame))
      return true;
  return false;
}

void write_checkpoint(const std::filesystem::path& file, const CheckpointStep& step, const Image& image,
                      const Quantity* quantity) {
  Header header;
  header.update = step.update;
  header.iteration = step.iteration;
  const Grid& grid = image.grid;
  for (int axis = 0; axis < 3; ++axis) {
    header.size[axis] = grid.size[axis];
    header.voxel_mm[axis] = grid.voxel_mm[axis];
    header.origin_mm[axis] = grid.origin_mm[axis];
  }
  header.blob_radius_mm = grid.blob.radius_mm;
  header.blob_alpha = grid.blob.alpha;
  const auto voxels = std::as_bytes(image.voxels.span());
  const std::string said = said_of(step, quantity).dump();
  header.json_bytes = static_cast<std::uint32_t>(said.size());
  header.checksum = checksum_of(header, voxels, said);
  AtomicFile written(file);
  written.write(std::as_bytes(std::span(&header, 1)));
  written.write(voxels);
  written.write(said);
  written.commit();
}

std::optional<Checkpoint> read_checkpoint(const std::filesystem::path& file_or_folder) {
  const auto file = file_of(file_or_folder);
  if (!std::filesystem::exists(file)) return std::nullopt;
  const auto damaged = [&](const char* what) {
    return std::runtime_error(fmt::format(
        "{} is not a whole checkpoint ({}): delete it, and the reconstruction begins anew", file.string(), what));
  };
  std::ifstream stream(file, std::ios::binary);
  Header header;
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof(header))) throw damaged("too short");
  if (header.magic != Header{}.magic || (header.version != 2 && header.version != 3)) throw damaged("another format");
  Checkpoint checkpoint{{header.update, header.iteration}, {}, {}};
  const Grid grid = grid_of(header);
  try {
    validate_basis(grid);
  } catch (const std::invalid_argument&) {
    throw damaged("its image");
  }
  const auto bytes = static_cast<std::uintmax_t>(grid.voxels()) * sizeof(float);
  if (std::filesystem::file_size(file) != sizeof(header) + bytes + header.json_bytes) throw damaged("its size");
  checkpoint.image = Image::zeros(grid);
  const auto voxels = std::as_writable_bytes(checkpoint.image.voxels.span());
  stream.read(reinterpret_cast<char*>(voxels.data()), static_cast<std::streamsize>(voxels.size()));
  std::string said(header.json_bytes, '\0');
  stream.read(said.data(), static_cast<std::streamsize>(said.size()));
  if (!stream || header.checksum != checksum_of(header, voxels, said)) throw damaged("its checksum");
  if (!said.empty()) take(checkpoint, nlohmann::ordered_json::parse(said), header.version);
  return checkpoint;
}

CheckpointStep checkpoint_step(const std::filesystem::path& file_or_folder) {
  const auto checkpoint = read_checkpoint(file_or_folder);
  return checkpoint ? checkpoint->step : CheckpointStep{};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
