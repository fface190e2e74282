// The JSON of BIDS beside a PET image: see bids_json.hpp.
#include "gadgets/io/nifti/bids_json.hpp"

#include <chrono>
#include <cstddef>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/base/version.hpp"
#include "gadgets/io/date_time.hpp"
#include "gadgets/io/decay_words.hpp"
#include "gadgets/io/filter_words.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"

namespace tofstream {
namespace {

using BidsObject = nlohmann::ordered_json;

// What users do not set, since it would say something else than the image.
constexpr const char* own_bids_keys[] = {"Units",
                                         "FrameTimesStart",
                                         "FrameDuration",
                                         "ImageDecayCorrected",
                                         "ImageDecayCorrectionTime",
                                         "DecayCorrectionFactor"};

// "F18" of "F-18".
std::string bids_radionuclide(std::string isotope) {
  std::erase(isotope, '-');
  return isotope;
}

void add_tracer(const BidsPet& pet, BidsObject& json) {
  const Tracer& tracer = pet.tracer;
  if (!tracer.name.empty()) json["TracerName"] = tracer.name;
  if (!tracer.isotope.empty()) json["TracerRadionuclide"] = bids_radionuclide(tracer.isotope);
  if (tracer.injected_MBq > 0) {
    json["InjectedRadioactivity"] = tracer.injected_MBq;
    json["InjectedRadioactivityUnits"] = "MBq";
  }
  if (pet.scan_start.empty()) return;
  const DateTime start = read_date_time("scan_start", pet.scan_start);
  const std::chrono::hh_mm_ss of_day(std::chrono::floor<std::chrono::seconds>(
      start - std::chrono::floor<std::chrono::days>(start)));
  json["TimeZero"] = fmt::format("{:02}:{:02}:{:02}", of_day.hours().count(), of_day.minutes().count(),
                                 of_day.seconds().count());
  json["ScanStart"] = 0;
  if (!tracer.injected_at.empty())
    json["InjectionStart"] = seconds_between(start, read_date_time("tracer.injected_at", tracer.injected_at));
}

void add_decay(const BidsPet& pet, BidsObject& json) {
  const auto decay = decay_correction_of(pet.quantity);
  json["ImageDecayCorrected"] = decay.has_value();
  if (!decay) return;
  json["ImageDecayCorrectionTime"] = decay->reference_time_s;
  if (decay->half_life_s <= 0 || pet.times.start_s.empty()) return;
  std::vector<double> factors;
  for (std::size_t f = 0; f < pet.times.start_s.size(); ++f)
    factors.push_back(1 / mean_decay(pet.times.start_s[f] - decay->reference_time_s, pet.times.duration_s[f],
                                     decay->half_life_s));
  json["DecayCorrectionFactor"] = factors;
}

void add_reconstruction(const BidsPet& pet, BidsObject& json) {
  if (!pet.method.empty()) json["ReconMethodName"] = pet.method;
  std::vector<std::string> labels, units;
  std::vector<double> values;
  for (const auto& [label, value] : pet.settings) {
    labels.push_back(label);
    units.emplace_back("none");
    values.push_back(value);
  }
  json["ReconMethodParameterLabels"] = labels;
  json["ReconMethodParameterUnits"] = units;
  json["ReconMethodParameterValues"] = values;
  json["ReconMethodImplementationVersion"] = fmt::format("tofstream {}", version());
  const auto fwhm_mm = smoothing_fwhm_mm(pet.filtered);
  json["ReconFilterType"] = pet.filtered.empty() ? "none" : fwhm_mm ? "Gaussian" : pet.filtered;
  if (fwhm_mm) json["ReconFilterSize"] = *fwhm_mm;
}

// Without the folder of a file: images leave their machine, and its folders may name who was scanned.
std::string attenuation_words(const CorrectionRecord& record) {
  if (record.state == CorrectionState::not_needed) return "none needed";
  if (record.state != CorrectionState::made) return "none";
  const std::string how = record.how.substr(record.how.rfind('/') + 1);
  return how.empty() ? "corrected" : how;
}

}  // namespace

BidsObject read_bids_details(const std::filesystem::path& path) {
  std::ifstream file(path);
  const BidsObject json = BidsObject::parse(file, nullptr, false);
  if (!json.is_object()) throw std::invalid_argument(fmt::format("{}: not a JSON object", path.string()));
  for (const char* key : own_bids_keys)
    if (json.contains(key))
      throw std::invalid_argument(
          fmt::format("{}: {} is what the image itself says: leave it out", path.string(), key));
  return json;
}

void check_bids(const BidsPet& pet) {
  // TimeZero has whole seconds, and times count from the scan's start.
  if (!pet.scan_start.empty()) {
    const DateTime start = read_date_time("scan_start", pet.scan_start);
    if (start != std::chrono::floor<std::chrono::seconds>(start))
      throw std::invalid_argument(fmt::format("scan_start: {}: BIDS takes whole seconds", pet.scan_start));
  }
  if (!pet.tracer.injected_at.empty()) (void)read_date_time("tracer.injected_at", pet.tracer.injected_at);
  if (!pet.tracer.isotope.empty()) (void)half_life_s(pet.tracer.isotope, Emission::positrons);
}

BidsObject bids_json(const BidsPet& pet) {
  check_bids(pet);
  BidsObject json{{"Modality", "PT"}};
  if (!pet.times.start_s.empty()) {
    json["FrameTimesStart"] = pet.times.start_s;
    json["FrameDuration"] = pet.times.duration_s;
  }
  if (pet.quantity) json["Units"] = unit_of(*pet.quantity);
  add_decay(pet, json);
  add_tracer(pet, json);
  add_reconstruction(pet, json);
  if (pet.quantity) {
    json["AttenuationCorrection"] = attenuation_words((*pet.quantity)[Correction::attenuation]);
    if (const auto reasons = not_quantitative_because(*pet.quantity); !reasons.empty())
      json["NotQuantitative"] = reasons;
  }
  json.update(pet.more);
  return json;
}

void write_bids_json(const std::filesystem::path& image, const BidsPet& pet) {
  AtomicFile file(frame_times_path(image));
  file.write(bids_json(pet).dump(2) + "\n");
  file.commit();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
