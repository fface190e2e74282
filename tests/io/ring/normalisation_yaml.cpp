// Normalisations are read back from their files, those of earlier versions too, and bad files are refused in one line.
#include "gadgets/ring/io/normalisation_yaml.hpp"

#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("a normalisation is read as it was written, and what is said of it stays in the file") {
  const TemporaryFolder folder;
  const NormalisationComponents components{.crystal_efficiency = std::vector<float>(40, 0.987654f),
                                           .calibration = 2.5e-4f,
                                           .class_factor = {1, 0.5f, 2},
                                           .unit = "Bq/mL"};
  formats::write_normalisation(folder / "norm.yaml", components,
                               {.comments = {"of a scan", "with\ntwo lines"},
                                .crystal_error = std::vector<float>(40, 0.01f),
                                .class_error = {0.1f, 0.2f, 0.3f},
                                .crystal_events = std::vector<double>(40, 812.25),
                                .dead = {3, 17},
                                .hot = {},
                                .unseen = {39}});
  const auto back = formats::read_normalisation(folder / "norm.yaml");
  CHECK(back.crystal_efficiency == components.crystal_efficiency);
  CHECK(back.class_factor == components.class_factor);
  CHECK(back.calibration == components.calibration);
  CHECK(back.unit == "Bq/mL");
  const std::string text = text_of(folder / "norm.yaml");
  CHECK(text.starts_with("# of a scan\n# with\\ntwo lines\ncalibration: 0.00025\n"));
  CHECK(text.find("dead: [3, 17]\n") != std::string::npos);
  CHECK(text.find("hot") == std::string::npos);
}

TEST_CASE("files of earlier versions are read, and bad ones are refused with their place") {
  CHECK(formats::parse_normalisation("calibration: 2\n", "n.yaml").calibration == 2);
  CHECK(formats::parse_normalisation("crystal_efficiency: [1, 0]\n", "n.yaml").crystal_efficiency[1] == 0);
  CHECK(formats::parse_normalisation("class_factor: [1]\n", "n.yaml").class_factor.size() == 1);
  CHECK_THROWS_WITH(formats::parse_normalisation("crystal_error: [1]\n", "n.yaml"),
                    doctest::Contains("needs crystal_efficiency, class_factor or calibration"));
  CHECK_THROWS_WITH(formats::parse_normalisation("class_factor: [1, -2]\n", "n.yaml"),
                    doctest::Contains("n.yaml:1:19"));
}
// SPDX-License-Identifier: Apache-2.0
