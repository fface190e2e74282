// The JSON of BIDS beside an image: see bids_json.hpp.
#include "gadgets/io/nifti/bids_json.hpp"

#include <chrono>
#include <cstddef>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/base/version.hpp"
#include "gadgets/io/date_time.hpp"
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

void add_tracer(const BidsImage& image, BidsObject& json) {
  const Tracer& tracer = image.tracer;
  if (!tracer.name.empty()) json["TracerName"] = tracer.name;
  if (!tracer.isotope.empty()) json["TracerRadionuclide"] = bids_radionuclide(tracer.isotope);
  if (tracer.injected_MBq > 0) {
    json["InjectedRadioactivity"] = tracer.injected_MBq;
    json["InjectedRadioactivityUnits"] = "MBq";
  }
  if (image.scan_start.empty()) return;
  const DateTime start = read_date_time("scan_start", image.scan_start);
  const std::chrono::hh_mm_ss of_day(std::chrono::floor<std::chrono::seconds>(
      start - std::chrono::floor<std::chrono::days>(start)));
  json["TimeZero"] = fmt::format("{:02}:{:02}:{:02}", of_day.hours().count(), of_day.minutes().count(),
                                 of_day.seconds().count());
  json["ScanStart"] = 0;
  if (!tracer.injected_at.empty())
    json["InjectionStart"] = seconds_between(start, read_date_time("tracer.injected_at", tracer.injected_at));
}

void add_decay(const BidsImage& image, BidsObject& json) {
  const auto decay = decay_correction_of(image.quantity);
  json["ImageDecayCorrected"] = decay.has_value();
  if (!decay) return;
  json["ImageDecayCorrectionTime"] = decay->reference_time_s;
  if (decay->half_life_s <= 0 || image.times.start_s.empty()) return;
  std::vector<double> factors;
  for (std::size_t f = 0; f < image.times.start_s.size(); ++f)
    factors.push_back(1 / mean_decay(image.times.start_s[f] - decay->reference_time_s, image.times.duration_s[f],
                                     decay->half_life_s));
  json["DecayCorrectionFactor"] = factors;
}

void add_reconstruction(const BidsImage& image, BidsObject& json) {
  if (!image.method.empty()) json["ReconMethodName"] = image.method;
  std::vector<std::string> labels, units;
  std::vector<double> values;
  for (const auto& [label, value] : image.settings) {
    labels.push_back(label);
    units.emplace_back("none");
    values.push_back(value);
  }
  json["ReconMethodParameterLabels"] = labels;
  json["ReconMethodParameterUnits"] = units;
  json["ReconMethodParameterValues"] = values;
  json["ReconMethodImplementationVersion"] = fmt::format("tofstream {}", version());
  const auto fwhm_mm = common_fwhm_mm(image.filters);
  json["ReconFilterType"] = image.filters.empty() ? "none" : fwhm_mm ? "Gaussian" : words_of(image.filters);
  if (fwhm_mm) json["ReconFilterSize"] = *fwhm_mm;
}

// Without the folder of a file: images leave their machine, and its folders may name who was scanned.
std::string attenuation_words(const CorrectionRecord& record) {
  if (record.state == CorrectionState::not_needed) return "none needed";
  if (record.state != CorrectionState::made) return "none";
  const std::string how = record.how.substr(record.how.rfind('/') + 1);
  return how.empty() ? "corrected" : how;
}

void require_isotope(const std::string& isotope, Modality modality) {
  if (modality == Modality::unknown)
    (void)photopeaks_keV(isotope);
  else
    (void)half_life_s(isotope, modality == Modality::pet ? Emission::positrons : Emission::single_photons);
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

void check_bids(const BidsImage& image) {
  // TimeZero has whole seconds, and times count from the scan's start.
  if (!image.scan_start.empty()) {
    const DateTime start = read_date_time("scan_start", image.scan_start);
    if (start != std::chrono::floor<std::chrono::seconds>(start))
      throw std::invalid_argument(fmt::format("scan_start: {}: BIDS takes whole seconds", image.scan_start));
  }
  if (!image.tracer.injected_at.empty()) (void)read_date_time("tracer.injected_at", image.tracer.injected_at);
  if (!image.tracer.isotope.empty()) require_isotope(image.tracer.isotope, image.modality);
}

BidsObject bids_json(const BidsImage& image) {
  check_bids(image);
  BidsObject json = BidsObject::object();
  if (image.modality != Modality::unknown) json["Modality"] = image.modality == Modality::pet ? "PT" : "NM";
  if (!image.times.start_s.empty()) {
    json["FrameTimesStart"] = image.times.start_s;
    json["FrameDuration"] = image.times.duration_s;
  }
  if (image.quantity) json["Units"] = unit_of(*image.quantity);
  add_decay(image, json);
  add_tracer(image, json);
  add_reconstruction(image, json);
  if (image.quantity) {
    json["AttenuationCorrection"] = attenuation_words((*image.quantity)[Correction::attenuation]);
    if (const auto reasons = not_quantitative_because(*image.quantity); !reasons.empty())
      json["NotQuantitative"] = reasons;
  }
  json.update(image.more);
  return json;
}

void write_bids_json(const std::filesystem::path& file_of_image, const BidsImage& image) {
  AtomicFile file(frame_times_path(file_of_image));
  file.write(bids_json(image).dump(2) + "\n");
  file.commit();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
