// The JSON of BIDS beside a PET image: what is known is in it, and nothing else.
#include "gadgets/io/nifti/bids_json.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "core/base/private_folder.hpp"
#include "kernels/correct/decay.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

using Json = nlohmann::ordered_json;

Quantity corrected_rate() {
  Quantity quantity{.unit = "Bq/mL", .reference_s = 1};
  for (CorrectionRecord& record : quantity.corrections) record.state = CorrectionState::made;
  quantity[Correction::attenuation].how = "/home/ada/patients/mu.nii.gz";
  correct_for_decay(quantity, {6584.04, 30});
  return quantity;
}

std::string why_no_details(const std::string& text) {
  const PrivateTemporaryFolder folder;
  std::ofstream(folder.path() / "pet.json") << text;
  try {
    (void)read_bids_details(folder.path() / "pet.json");
  } catch (const std::invalid_argument& why) {
    return why.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("BIDS: where nothing is known, nothing is said") {
  const Json json = bids_json({});
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"ImageDecayCorrected", "ReconMethodParameterLabels",
                                         "ReconMethodParameterUnits", "ReconMethodParameterValues",
                                         "ReconMethodImplementationVersion", "ReconFilterType"});
  CHECK(json["ImageDecayCorrected"] == false);
  CHECK(json["ReconFilterType"] == "none");
  CHECK(json["ReconMethodParameterLabels"].empty());
}

TEST_CASE("BIDS: what the image, its frames and the user say") {
  const Quantity quantity = corrected_rate();
  const Json json = bids_json({.times = {{0, 60}, {60, 120}},
                               .quantity = &quantity,
                               .modality = Modality::pet,
                               .filters = {{{3, 3, 3}}, {{4, 4, 4}}},
                               .tracer = {"FDG", "F-18", 350, "2026-02-28T23:30:00"},
                               .scan_start = "2026-03-01T00:10:05",
                               .method = "OSEM",
                               .settings = {{"iterations", 3}, {"subsets", 8}},
                               .more = {{"BodyPart", "brain"}, {"TracerName", "FDG, batch 7"}}});
  CHECK(json["FrameTimesStart"] == Json{0, 60});
  CHECK(json["FrameDuration"] == Json{60, 120});
  CHECK(json["Units"] == "Bq/mL");
  CHECK(json["TracerName"] == "FDG, batch 7");  // the user knows better
  CHECK(json["TracerRadionuclide"] == "F18");
  CHECK(json["InjectedRadioactivity"] == 350);
  CHECK(json["InjectedRadioactivityUnits"] == "MBq");
  CHECK(json["TimeZero"] == "00:10:05");
  CHECK(json["ScanStart"] == 0);
  CHECK(json["InjectionStart"] == -2405);
  CHECK(json["ImageDecayCorrected"] == true);
  CHECK(json["ImageDecayCorrectionTime"] == 30);
  REQUIRE(json["DecayCorrectionFactor"].size() == 2);
  CHECK(json["DecayCorrectionFactor"][1].get<double>() == approx(1 / mean_decay(30, 120, 6584.04)));
  CHECK(json["ReconMethodName"] == "OSEM");
  CHECK(json["ReconMethodParameterLabels"] == Json{"iterations", "subsets"});
  CHECK(json["ReconMethodParameterUnits"] == Json{"none", "none"});
  CHECK(json["ReconMethodParameterValues"] == Json{3, 8});
  CHECK(json["ReconFilterType"] == "Gaussian");
  CHECK(json["ReconFilterSize"] == 5);
  CHECK(json["AttenuationCorrection"] == "mu.nii.gz");  // no folder of this machine
  CHECK(json["BodyPart"] == "brain");
  CHECK_FALSE(json.contains("NotQuantitative"));
}

TEST_CASE("BIDS has no SPECT: an image of a camera says that it is one, and takes a camera's isotopes alone") {
  const BidsImage spect{.modality = Modality::spect, .filters = {}, .tracer = {"MDP", "Tc-99m", 0, ""}};
  CHECK(bids_json(spect)["Modality"] == "NM");
  CHECK(bids_json(spect)["TracerRadionuclide"] == "Tc99m");
  BidsImage pet = spect;
  pet.modality = Modality::pet;
  CHECK_THROWS_WITH(check_bids(pet), doctest::Contains("Tc-99m is imaged by its single photons"));
  pet.tracer.isotope = "F-18";
  CHECK(bids_json(pet)["Modality"] == "PT");
  pet.tracer.isotope = "X-1";
  pet.modality = Modality::unknown;
  CHECK_THROWS_WITH(check_bids(pet), doctest::Contains("'X-1'"));
}

TEST_CASE("BIDS: an image that is not quantitative, and one without attenuation correction, say so") {
  Quantity quantity = corrected_rate();
  quantity[Correction::attenuation] = {CorrectionState::called_for, ""};
  const Json json = bids_json({.quantity = &quantity});
  CHECK(json["AttenuationCorrection"] == "none");
  CHECK(json["NotQuantitative"] == Json::array({"no correction for attenuation"}));
  CHECK_FALSE(json.contains("DecayCorrectionFactor"));  // of which time is not known
  quantity[Correction::attenuation].state = CorrectionState::not_needed;
  CHECK(bids_json({.quantity = &quantity})["AttenuationCorrection"] == "none needed");
  CHECK(bids_json({.filters = {{{5, 5, 3}}}})["ReconFilterType"] == "smoothed by 5 x 5 x 3 mm FWHM");
  CHECK_FALSE(bids_json({.filters = {{{5, 5, 3}}}}).contains("ReconFilterSize"));
}

TEST_CASE("BIDS: details of the user that are no JSON object, or contradict the image, are refused") {
  CHECK(why_no_details(R"({"BodyPart": "brain"})") == "taken");
  CHECK(why_no_details("[1]").find("pet.json: not a JSON object") != std::string::npos);
  CHECK(why_no_details("{").find("pet.json: not a JSON object") != std::string::npos);
  CHECK(why_no_details(R"({"Units": "kBq/mL"})").find("pet.json: Units is what the image itself says") !=
        std::string::npos);
  CHECK_THROWS_WITH(check_bids({.scan_start = "noon"}), "scan_start: noon is no time: write it as 2026-03-01T09:30:00");
  CHECK_THROWS_WITH(check_bids({.scan_start = "2026-03-01T09:30:00.5"}), doctest::Contains("BIDS takes whole seconds"));
  CHECK_NOTHROW(check_bids({.scan_start = "1969-12-31T23:59:59"}));
  CHECK_THROWS(check_bids({.tracer = {.isotope = "F18"}}));
}
// SPDX-License-Identifier: Apache-2.0
