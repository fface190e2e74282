// A body that attenuates, from its map to its activity; maps and profiles on the command line; and the scripts of the
// paper's experiments and of the corrected NEMA phantom, with few events.
#include "gadgets/io/nifti/nifti.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/script.hpp"

using namespace tofstream;

TEST_CASE("a scan with attenuation reconstructs to its activity by a coarse map longer than the image") {
  const TemporaryFolder out;
  const auto path = [&](const char* name) { return (out / name).string(); };
  REQUIRE(run_command("simulate --quiet --phantom uniform_cylinder --events 400000 --seed 3 -o " + path("scan.petsird"))
              .code == 0);
  REQUIRE(run_command("phantom uniform_cylinder --mu --voxel-mm 8 -o " + path("mu.nii.gz")).code == 0);
  CHECK(read_nifti(out / "mu.nii.gz").grid == Grid::centred(27, 27, 40, {8, 8, 8}));
  const auto run =
      run_command("run joseph_osem --quiet --backend cpu --input " + path("scan.petsird") + " --out " + path("image") +
                  " --set image.size=[64,64,32] --set image.voxel_mm=[4,4,4] --set subsets.reference_s=1"
                  " --set projected.sensitivity.cache=false --set mu_map=" +
                  path("mu.nii.gz"));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Image image = read_nifti(out / "image" / "image.nii.gz");
  CHECK(statistics(image, Cylinder{{0, 0, 0}, 80, 60}).mean == approx(10000).epsilon(0.02));
  CHECK(statistics(image, Cylinder{{0, 0, 0}, 30, 60}).mean == approx(10000).epsilon(0.03));
}

TEST_CASE("a mu map with a wrong value is refused, by name") {
  const TemporaryFolder out;
  Image mu = Image::zeros(Grid::centred(4, 4, 4, {50, 50, 50}));
  mu.voxels[7] = -0.1f;
  write_nifti(out / "mu.nii.gz", mu);
  const auto run = run_command("run simulate_osem --quiet --backend cpu --out " + (out / "image").string() +
                               " --set photons.events=1000 --set mu_map=" + (out / "mu.nii.gz").string());
  CHECK(run.code != 0);
  CHECK(run.err.find("mu.nii.gz: attenuation must not be negative") != std::string::npos);
}

TEST_CASE("a phantom's image has its activity, on the grid asked for, and profiles go through it") {
  const TemporaryFolder out;
  const std::string file = (out / "truth.nii.gz").string(), again = (out / "again.nii.gz").string();
  REQUIRE(run_command("phantom uniform_cylinder --size 60 60 20 --voxel-mm 5 -o " + file).code == 0);
  REQUIRE(run_command("phantom uniform_cylinder --like " + file + " -o " + again).code == 0);
  CHECK(run_command("compare --json " + again + " " + file).json()["max_abs"] == 0);
  const std::string line = "profile truth=" + file + " --from -140 0 0 --to 140 0 0 --points 281 ";
  const auto values = run_command(line + "--json --phantom uniform_cylinder").json();
  CHECK(values["distance_mm"][280] == approx(280));
  CHECK(values["values"]["truth"][140] == 10000);
  CHECK(values["values"]["truth"][20] == 0);
  CHECK(run_command(line + "--plot " + (out / "line.svg").string()).code == 0);
  CHECK(std::filesystem::file_size(out / "line.svg") > 1000);
  CHECK(values["unit"] == "image value");  // there is no provenance to say more
  const auto table = run_command("profile truth=" + file + " --from 0 0 0 --to 10 0 0 --points 2 --unit Bq/mL");
  CHECK(table.out ==
        "Bq/mL, from (0, 0, 0) to (10, 0, 0) mm\n"
        "distance (mm)          truth\n        0.000          10000\n       10.000          10000\n");
  const auto point = run_command("profile " + file + " --from 1 2 3 --to 1 2 3");
  CHECK(point.code == 2);
  CHECK_MESSAGE(point.err.find("--from and --to are one point, (1, 2, 3) mm") != std::string::npos, point.err);
  const auto outside = run_command("profile " + file + " --from -200 0 0 --to 0 0 0");
  CHECK(outside.code == 2);
  CHECK(outside.err.find("leaves the image at x = -200.00 mm") != std::string::npos);
}

TEST_CASE("the script of the paper's experiments simulates, reconstructs, measures and draws") {
  const std::filesystem::path script = script_or_skip("experiments/paper_experiments");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " hot_rods --backend cpu --events-scale 0.0002 --pairs " +
                              "100000 --set subsets.subsets=2 --tofstream " + program().string() + " --out " +
                              out.path().string() + " >" + log + " 2>&1";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0, text_of(log));
  const auto report = nlohmann::json::parse(text_of(out / "report.json"));
  REQUIRE(report.size() == 1);
  CHECK(report[0]["events"] == 5060);
  CHECK(report[0]["variants"][0]["backends"]["cpu"]["regions"].size() == 6);
  CHECK(report[0]["curves"][0]["images"].size() == 8);
  for (const char* picture : {"hot_rods_cpu.png", "hot_rods_profile.png", "hot_rods_contrast.png"})
    CHECK(std::filesystem::file_size(out / "hot_rods" / picture) > 10000);
}

TEST_CASE("the script of the NEMA phantom with and without time of flight measures each iteration's image") {
  const std::filesystem::path script = script_or_skip("experiments/nema_tof");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " --backend cpu --events 60000 --iterations 2 --pairs " +
                              "100000 --tofstream " + program().string() + " --out " + out.path().string() + " >" +
                              log + " 2>&1";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0, text_of(log));
  for (const std::string scanner : {"demo_ring", "gemini_tf"}) {
    const auto report = nlohmann::json::parse(text_of(out / (scanner + ".json")));
    CHECK(report["scanner"] == scanner);
    CHECK(report.contains("commit"));
    REQUIRE(report["studies"].size() == 2);
    CHECK(report["studies"][0]["label"] == "tof");
    REQUIRE(report["studies"][1]["images"].size() == 2);
    CHECK(report["studies"][1]["images"][1]["spheres"].size() == 6);
    CHECK(std::filesystem::file_size(out / (scanner + ".png")) > 10000);
  }
}

TEST_CASE("the script of the corrected NEMA phantom compares means over scans with their errors") {
  const std::filesystem::path script = script_or_skip("experiments/nema_corrections");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " --backend cpu --events 100000 --realisations 2 " +
                              "--iterations 2 --pairs 200000 --tofstream " + program().string() + " --out " +
                              out.path().string() + " >" + log + " 2>&1";
  const int status = std::system(command.c_str());  // 1: with so few events CPU and GPU may differ
  const auto report = nlohmann::json::parse(text_of(out / "report.json"), nullptr, false);
  REQUIRE_MESSAGE((status == 0 || WEXITSTATUS(status) == 1), text_of(log));
  REQUIRE_MESSAGE(!report.is_discarded(), text_of(log));
  CHECK(report["realisations"]["corrected"] == 4);
  REQUIRE(report["images"].size() == 24);  // six spheres after two iterations, with and without the filter
  const auto& last = report["images"][23];
  CHECK(last["filter_fwhm_mm"] == 5);
  CHECK(last["diameter_mm"] == 37);
  CHECK(last["contrast_percent"]["difference_error"].get<double>() > 0);
  CHECK(last["scans"]["corrected"].size() == 4);
  // With so few events the background of the largest discs is known to some percent.
  CHECK(std::abs(last["background_mean"]["difference"].get<double>()) < 0.15);
  CHECK(last["background_mean"]["ideal"]["mean"].get<double>() == approx(5300).epsilon(0.15));
}

TEST_CASE("the script of quantitative scans compares them with ideal ones, with time of flight and without") {
  const std::filesystem::path script = script_or_skip("experiments/quantitative_scans");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " --backend cpu --scanner demo_ring --events 60000 " +
                              "--realisations 1 --iterations 2 --point-mm 60 --pairs 200000 --tofstream " +
                              program().string() + " --out " + out.path().string() + " >" + log + " 2>&1";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0, text_of(log));  // the error of one scan is not known
  const auto report = nlohmann::json::parse(text_of(out / "report.json"));
  CHECK(report["counted"]["corrected"]["scattered"] > 1000);
  CHECK_FALSE(report["counted"]["unscattered"].contains("scattered"));
  for (const char* tof : {"tof", "non_tof"}) {
    const auto& rows = report[tof]["figures"]["2"];
    // Its scatter is made of an image that still has it, and so few events beside the body do not say by how much.
    CHECK(rows["mean of background"]["corrected"]["mean"].get<double>() == approx(0.8).epsilon(0.2));
    CHECK(rows["mean of background"]["unscattered"]["mean"].get<double>() == approx(1).epsilon(0.15));
    CHECK(rows["contrast of 37 mm, cold"].contains("unscattered"));
    CHECK(rows["lung residual"]["residual"]["bound"] == 5);
    CHECK(report[tof]["tails"]["factors"].size() == 1);
  }
  CHECK(std::filesystem::file_size(out / "corrected.png") > 10000);
}

TEST_CASE("the script of the NEMA phantom's scatter measures images without its correction and with it") {
  const std::filesystem::path script = script_or_skip("experiments/nema_scatter");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command =
      "python3 " + script.string() + " --backend cpu --scanner demo_ring --events 60000 " +
      "--iterations 2 --voxel-mm 8 --point-mm 60 --pairs 200000 --multiple-error 0.5 --tofstream " +
      program().string() + " --out " + out.path().string() + " >" + log + " 2>&1";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0, text_of(log));
  const auto report = nlohmann::json::parse(text_of(out / "report.json"));
  CHECK(report.contains("commit"));
  CHECK(report["counted"]["scattered"]["scattered_more_than_once"] > 0);
  const auto background = [&](const char* arm) { return report["images"][arm]["background_over_truth"].get<double>(); };
  CHECK(background("without") > 1.2);
  CHECK(background("fitted") == approx(1).epsilon(0.25));  // its first scatter is of an image that has it
  CHECK(background("fitted") < background("single"));
  CHECK(report["images"]["fitted"]["tail_factor"].size() == 1);
  CHECK(background("all orders") < background("single"));
  CHECK(report["images"]["all orders, fitted"]["tail_factor"][0] < report["images"]["fitted"]["tail_factor"][0]);
}

TEST_CASE("the script of the study of algorithms compares each with the reference, and a tracer that moves with EM") {
  const std::filesystem::path script = script_or_skip("experiments/algorithms_study");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " nema_iq --moving --backend cpu --scanner demo_ring " +
                              "--events 40000 --voxel-mm 8 --reference-updates 8 --passes 3 --timed-passes 3 " +
                              "--moving-passes 2 --svrg 4,0.3 --exact-pairs 0 --pairs 100000 --tofstream " +
                              program().string() + " --out " + out.path().string() + " >" + log + " 2>&1";
  const int status = std::system(command.c_str());  // 1: so few passes converge to nothing
  const auto study = nlohmann::json::parse(text_of(out / "study.json"), nullptr, false);
  REQUIRE_MESSAGE((status == 0 || WEXITSTATUS(status) == 1), text_of(log));
  REQUIRE_MESSAGE(!study.is_discarded(), text_of(log));
  const auto& phantom = study["phantoms"]["nema_iq"];
  CHECK(phantom["strength_0"]["largest_difference"] == 0);
  CHECK(phantom["objective_largest_fall"].get<double>() < 1e-9);
  for (const char* name : {"bsrem", "svrg", "svrg, 4 subsets, relaxation 0.3", "osem, no prior"})
    CHECK(phantom["algorithms"][name]["images"].size() == 3);
  CHECK(study["moving"]["cuts"].size() == 4);
  CHECK(study["moving"]["cuts"]["bsrem, interleaved"]["region_percent"] <
        study["moving"]["cuts"]["bsrem, time"]["region_percent"]);
}

TEST_CASE("the script of the study of Patlak's plot compares it with direct reconstruction") {
  const std::filesystem::path script = script_or_skip("experiments/patlak_study");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " --scans 2 --iterations 1 --scale 1e-3 --pairs 100000 " +
                              "--backend cpu --tofstream " + program().string() + " --out " + out.path().string() +
                              " >" + log + " 2>&1";
  const int status = std::system(command.c_str());  // 1: two scans of few events
  const auto study = nlohmann::json::parse(text_of(out / "study.json"), nullptr, false);
  REQUIRE_MESSAGE((status == 0 || WEXITSTATUS(status) == 1), text_of(log));
  REQUIRE_MESSAGE(!study.is_discarded(), text_of(log));
  CHECK(study["trues_a_scan"] > 100'000);
  for (const char* kind : {"plot", "direct"})
    CHECK(study[kind][0]["tissue"]["mean"].get<double>() == approx(1).epsilon(0.3));
}

TEST_CASE("scripts of studies run to their end with few events, and say whether their limits hold") {
  struct Script {
    const char *name, *arguments;
  };
  for (const Script& each : {Script{"experiments/frames_job", "--events 20000 --frames 2 --runs 1 --bound-s 600"},
                             Script{"experiments/poses_job", "--events 20000 --runs 1 --most 1000 --pairs 100000"},
                             Script{"experiments/kappa_study",
                                    "--events 20000 --scans 1 --passes 2 --pairs 100000 --far-mm 60 "
                                    "--radius-mm 80 --lesions-mm 20 --strengths 0.03"},
                             Script{"experiments/live_scatter_study",
                                    "--seconds 2 --rate 20000 --every-s 1 --point-mm 60 --pairs 100000 --most 1000"},
                             Script{"experiments/rank_images_study",
                                    "--events 20000 --size 16 16 8 --iterations 1 2 --runs 1 --most 1000 "
                                    "--pairs 20000"},
                             Script{"experiments/rank_cores_study",
                                    "--events 20000 --size 16 16 8 --iterations 1 2 --runs 1 --most 1000 "
                                    "--pairs 20000 --start-ranks 3 --most-start-s 60"},
                             Script{"experiments/clinical_ranks_study",
                                    "--events 20000 --size 16 16 8 --subsets 2 --iterations 1 --runs 1 "
                                    "--pairs 20000"},
                             Script{"experiments/gates_study",
                                    "--scans 1 --seconds 1 --scale 0.01 --iterations 2 --gates 2 --pairs 100000"}}) {
    CAPTURE(each.name);
    const std::filesystem::path script = script_or_skip(each.name);
    if (script.empty()) return;
    const TemporaryFolder out;
    const std::string log = (out / "log").string();
    const std::string command = fmt::format(
        "python3 {} {} --scanner demo_ring --voxel-mm 8 --backend cpu --tofstream "
        "{} --out {} >{} 2>&1",
        script.string(), each.arguments, program().string(), out.path().string(), log);
    const int status = std::system(command.c_str());
    const auto study = nlohmann::json::parse(text_of(out / "study.json"), nullptr, false);
    REQUIRE_MESSAGE(!study.is_discarded(), text_of(log));
    CHECK(study.contains("commit"));
    CHECK(WEXITSTATUS(status) == (study["holds"] == true ? 0 : 1));
  }
}

TEST_CASE("the script of the study of DIRECT lays events down once and measures contrast and noise by iteration") {
  const std::filesystem::path script = script_or_skip("experiments/direct_study");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const std::string command = "python3 " + script.string() + " --backend cpu --scanner demo_ring --events 60000 " +
                              "--voxel-mm 12 --lines 200000 --iterations 2 --models fft invariant --tofstream " +
                              program().string() + " --out " + out.path().string() + " >" + log + " 2>&1";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0, text_of(log));
  const auto report = nlohmann::json::parse(text_of(out / "study.json"));
  CHECK(report.contains("commit"));
  REQUIRE(report["studies"].size() == 6);  // and OSEM of histo-images with two kernels, and list mode by both updates
  CHECK(report["studies"][3]["label"] == "list_mode");
  for (const auto& study : report["studies"]) {
    REQUIRE(study["images"].size() == 2);
    CHECK(study["images"][1]["contrast"].size() == 6);
    CHECK(study["images"][1]["noise_percent"].get<double>() > 0);
  }
  CHECK(report["report"]["largest_difference_fft_invariant"].get<double>() < 1);
  CHECK(std::filesystem::file_size(out / "curves.png") > 10000);
  for (const auto& [pair, gap] : report["report"]["direct_less_list_mode"].items()) CHECK(gap.contains("largest"));
  CHECK(report["report"]["direct_less_list_mode"].size() == 3);  // `deposit` is no model here
  CHECK((report["report"]["noise_percent"].is_null() || std::filesystem::exists(out / "equal_noise.png")));
}
// SPDX-License-Identifier: Apache-2.0
