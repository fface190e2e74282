// The probe, its batches, and what registers them: see probe.hpp.
#include "probe.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/value/document.hpp"
#include "core/value/params.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/scanner_kinds.hpp"
#include "gadgets/io/wire/record_arrays.hpp"
#include "gadgets/io/wire/record_kinds.hpp"

namespace probe {
namespace {

struct ProbeFile {
  struct Size {
    double radius_mm = 0;
    static constexpr auto params =
        describe(param<&Size::radius_mm>("radius_mm", range(1, 1e4), required, "What it sees"));
  };
  std::string name;
  Size probe;
  static constexpr auto params = describe(param<&ProbeFile::name>("name", required, "Of the probe"),
                                          param<&ProbeFile::probe>("probe", required, "The probe"));
};

// One module of one box, since a header needs detectors; the records hold the rest.
petsird::Header header_of(const Probe& probe) {
  const auto reach = static_cast<float>(probe.radius_mm);
  petsird::Header header;
  petsird::ScannerInformation& info = header.scanner;
  info.model_name = probe.name;
  info.collimator_type = "NONE";
  petsird::Replicated<petsird::DetectorModule> modules;
  const petsird::Transform in_place{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  petsird::BoxShape& box = modules.object.detecting_elements.object.shape;
  for (std::size_t corner = 0; corner < box.size(); ++corner)
    box[corner] = {(corner & 1U) != 0 ? 1.0f : -1.0f, (corner & 2U) != 0 ? 1.0f : -1.0f,
                   (corner & 4U) != 0 ? 1.0f : -1.0f};
  modules.object.detecting_elements.transforms = {in_place};
  modules.transforms = {in_place};
  info.geometry.replicated_modules.push_back(modules);
  info.tof_bin_edges_mm = {{{-reach, reach}}};
  info.tof_resolution_fwhm_mm = {{2 * reach}};
  info.event_energy_bin_edges_keV = {{0, 511}};
  info.energy_resolution_at_511 = {1};
  info.efficiencies.method_description =
      "a probe" + std::string(petsird::perfect_words) + std::string(petsird::absolute_scale_words);
  return header;
}

ScannerHeader header(const std::filesystem::path& file, double /*crystal_efficiency_spread*/) {
  return {header_of(read_probe(file))};
}

TOFSTREAM_SCANNER("probe", .words = "a probe", .header = header, .simulator = "probe_simulator",
                  .writer = "probe_writer");

void encode(const EventBatch& batch, std::span<std::byte> payload) {
  for (int axis = 0; axis < 3; ++axis) wire::write_array(batch.ends[axis], batch.count, payload);
}

EventBatch decode(const wire::Frame& frame, const std::shared_ptr<const Scanner>& scanner, std::string& wrong) {
  const auto count = static_cast<std::int64_t>(frame.header.events);
  auto rest = frame.payload;
  const auto x = wire::read_array<float>(rest, count), y = wire::read_array<float>(rest, count),
             z = wire::read_array<float>(rest, count);
  EventBatch batch = make_batch(scanner, count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i] + y[i] + z[i])) wrong = "a place that is no number";
    set_place(batch, i, {x[i], y[i], z[i]});
  }
  return batch;
}

TOFSTREAM_RECORDS(records, 12, .holds = is_of_probe, .encode = encode, .decode = decode);

}  // namespace

Probe read_probe(const std::filesystem::path& file) {
  Problems problems;
  ProbeFile read;
  read_params(detail::infos_of<ProbeFile>(), &read, {load_document(file, problems), "", problems});
  if (!problems.empty()) throw std::runtime_error(problems.all().front().text());
  return {read.name, read.probe.radius_mm};
}

std::shared_ptr<const Scanner> make_scanner(const std::string& name) {
  auto scanner = std::make_shared<Scanner>();
  scanner->name = name;
  scanner->detectors = std::make_shared<const DetectorTable>(std::vector<Vec3>{{0, 0, 0}});
  ModuleType all;
  all.modules = 1;
  scanner->types = {all};
  return scanner;
}

EventBatch make_batch(std::shared_ptr<const Scanner> scanner, std::int64_t count) {
  EventBatch batch;
  batch.count = count;
  batch.scanner = std::move(scanner);
  for (auto& end : batch.ends) end = Buffer<float>(Memory::host, count);
  return batch;
}

bool is_of_probe(const EventBatch& batch) {
  return !batch.detectors && batch.tof_mm.empty() && batch.scanner && batch.scanner->detectors->size() == 1;
}

void set_place(EventBatch& batch, std::int64_t event, const Vec3& place_mm) {
  batch.ends[0][event] = batch.ends[3][event] = place_mm.x;
  batch.ends[1][event] = batch.ends[4][event] = place_mm.y;
  batch.ends[2][event] = batch.ends[5][event] = place_mm.z;
}

Vec3 place_of(const EventBatch& batch, std::int64_t event) {
  return {batch.ends[0][event], batch.ends[1][event], batch.ends[2][event]};
}

}  // namespace probe
// SPDX-License-Identifier: Apache-2.0
