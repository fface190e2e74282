// Headers with another normalisation: see normalised_header.hpp.
#include "gadgets/ring/io/normalised_header.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/decoder.hpp"
#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/writer.hpp"

namespace tofstream::petsird {
namespace {

void set_crystals(ScannerInformation& scanner, const std::vector<float>& crystals) {
  std::size_t detectors = 0;
  for (std::size_t type = 0; type < module_types(scanner); ++type) {
    const BinCounts bins = bin_counts(scanner, type);
    detectors += std::size_t{bins.modules} * bins.elements;
  }
  if (crystals.size() != detectors)
    throw std::invalid_argument(
        fmt::format("{} crystal efficiencies for the {} detectors of scanner {}: one for each is "
                    "needed",
                    crystals.size(), detectors, scanner.model_name));
  std::vector<std::vector<float>>& types = scanner.efficiencies.detection_bin_efficiencies;
  types.assign(module_types(scanner), {});
  std::size_t crystal = 0;
  for (std::size_t type = 0; type < types.size(); ++type) {
    const BinCounts bins = bin_counts(scanner, type);
    for (std::size_t d = std::size_t{bins.modules} * bins.elements; d > 0; --d, ++crystal)
      types[type].insert(types[type].end(), bins.energies, crystals[crystal] / static_cast<float>(bins.energies));
  }
}

// In the order in which a reader of the header numbers the tables.
void set_classes(DetectionEfficiencies& efficiencies, const std::vector<float>& factors) {
  std::size_t tables = 0;
  for (const auto& row : efficiencies.module_pair_efficiencies)
    for (const auto& groups : row) tables += groups.size();
  if (factors.size() != tables)
    throw std::invalid_argument(
        fmt::format("{} factors of classes for the {} tables of module pairs in the header: one for each is needed",
                    factors.size(), tables));
  auto factor = factors.begin();
  for (auto& row : efficiencies.module_pair_efficiencies)
    for (auto& groups : row)
      for (ModulePairEfficiencies& group : groups) {
        for (auto& values : group.values)
          for (float& value : values) value *= *factor;
        ++factor;
      }
}

float per_cubic_mm(const NormalisationComponents& components) {
  constexpr float kBq_per_Bq = 1000;
  if (components.unit == "Bq/mL") return kBq_per_Bq * components.calibration;
  if (components.unit == "kBq/mL") return components.calibration;
  throw std::invalid_argument(
      fmt::format("the normalisation's calibration is for {}, and a PETSIRD header's is for annihilations per mm^3: it "
                  "needs unit: Bq/mL or unit: kBq/mL",
                  components.unit.empty() ? "no unit" : "the unit " + components.unit));
}

class HeaderHandler final : public Handler {
 public:
  void on_schema(const Schema& schema) override { version = schema.version(); }
  void on_header(Header&& read) override { header = std::move(read); }
  Version version = Version::unknown;
  std::optional<Header> header;
};

}  // namespace

void set_normalisation(Header& header, const NormalisationComponents& components, const std::string& what) {
  DetectionEfficiencies& efficiencies = header.scanner.efficiencies;
  if (!components.crystal_efficiency.empty()) set_crystals(header.scanner, components.crystal_efficiency);
  if (!components.class_factor.empty()) set_classes(efficiencies, components.class_factor);
  if (components.calibration > 0) efficiencies.calibration_factor = per_cubic_mm(components);
  restate_efficiencies(efficiencies, what, components.calibration > 0);
}

void HeaderReplacer::push(std::span<const std::byte> bytes) {
  if (is_replaced_) return sink_(bytes);
  cutter_.push(bytes);
  const std::size_t before = std::exchange(taken_, taken_ + bytes.size());
  if (header_.empty()) return;
  replace();
  sink_(bytes.subspan(header_.size() - before));
  header_ = {};
}

void HeaderReplacer::replace() {
  HeaderHandler reader;
  Decoder decoder(reader);
  decoder.push(header_);
  if (reader.version != Version::head && reader.version != Version::v0_10)
    throw Error(
        fmt::format("the stream is of PETSIRD {}, and headers are written of HEAD and v0.10.0 only: convert it "
                    "with the standard's own tools, or give the normalisation to event_corrections",
                    version_name(reader.version)));
  change_(*reader.header);
  Writer(sink_, std::move(*reader.header), reader.version).flush();
  is_replaced_ = true;
}

void HeaderReplacer::finish() const {
  if (!is_replaced_) throw Error("the stream ends within its header");
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
