// Operators between an update and a projector: what comes back has been through their adjoints, one by one, the last
// one first, in every way of making an image.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_quantity.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/step/adjoint_images.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/displacement_file.hpp"

using namespace tofstream;

namespace {

const Grid operator_grid = Grid::centred(4, 3, 2, {2, 2, 2});

// y_i = w_i x_(i + shift): neither symmetric nor in any order with another.
class ShiftOperator final : public ImageOperator {
 public:
  explicit ShiftOperator(std::int64_t shift) : ImageOperator(operator_grid, Backend::cpu), shift_(shift) {}

 private:
  Image forward_of(const Image& x) const override {
    Image y = Image::zeros(grid());
    for (std::int64_t i = 0; i + shift_ < grid().voxels(); ++i) y.voxels[i] = weight(i) * x.voxels[i + shift_];
    return y;
  }
  Image adjoint_of(const Image& y) const override {
    Image x = Image::zeros(grid());
    for (std::int64_t i = 0; i + shift_ < grid().voxels(); ++i) x.voxels[i + shift_] = weight(i) * y.voxels[i];
    return x;
  }
  static float weight(std::int64_t i) { return 1 + 0.5f * static_cast<float>(i % 5); }
  std::int64_t shift_;
};

std::shared_ptr<const Image> numbered_image(float from) {
  auto image = std::make_shared<Image>(Image::zeros(operator_grid));
  for (std::int64_t v = 0; v < image->voxels.size(); ++v)
    image->voxels[v] = from + 0.1f * static_cast<float>(v * v % 7);
  return image;
}

double product(const Image& a, const Image& b) {
  double sum = 0;
  for (std::int64_t v = 0; v < a.voxels.size(); ++v)
    sum += static_cast<double>(a.voxels[v]) * static_cast<double>(b.voxels[v]);
  return sum;
}

}  // namespace

TEST_CASE("adjoints of operators that follow one another are applied in reverse order, once for a sensitivity") {
  const std::vector<AppliedOperator> through = {{std::make_shared<const ShiftOperator>(1), "first", true},
                                                {std::make_shared<const ShiftOperator>(5), "second"}};
  const auto x = numbered_image(1), y = numbered_image(3), s = numbered_image(5);
  AdjointImages adjoint;
  const auto applied = [&](const std::vector<AppliedOperator>& operators) {
    Projected projected{.back_projection = y, .sensitivity = s, .support = s};
    adjoint.apply(operators, projected);
    return projected;
  };
  const Projected once = applied(through);
  const Image forward = through[1].image_operator->forward(through[0].image_operator->forward(*x));
  CHECK(product(forward, *y) == approx(product(*x, *once.back_projection)).epsilon(1e-6));
  CHECK(product(forward, *s) == approx(product(*x, *once.sensitivity)).epsilon(1e-6));
  CHECK(once.support == once.sensitivity);
  CHECK(once.coefficients_of == "first");
  CHECK(applied(through).sensitivity == once.sensitivity);
  const Projected other = applied({through[1], through[0]});
  CHECK(other.sensitivity->voxels.to_vector() != once.sensitivity->voxels.to_vector());
  const Projected none = applied({});
  CHECK(none.back_projection == y);
  CHECK(none.sensitivity == s);
  CHECK(none.coefficients_of.empty());
  const Image elsewhere = Image::zeros(Grid::centred(2, 2, 2, {2, 2, 2}));
  CHECK_THROWS_WITH(through[0].image_operator->forward(elsewhere), doctest::Contains("another grid"));
}

TEST_CASE("an estimate says which operators it went through, and who must not read it refuses it") {
  RegisteredGadgetTest<Estimate> blur("gaussian_psf", "{psf_fwhm_mm: [4, 4, 6]}");
  blur.send(Estimate{{.iteration = 1}, numbered_image(1)});
  REQUIRE(blur.out.size() == 1);
  const Estimate& blurred = blur.out[0];
  REQUIRE(blurred.through.size() == 1);
  CHECK(blurred.through[0].name == "gaussian_psf");
  CHECK(words_of(blurred.filters) == "smoothed by 4 x 4 x 6 mm FWHM (gaussian_psf)");
  RegisteredGadgetTest<Estimate> again("gaussian_psf"), smooth("smooth", "{post_filter_mm: 3}");
  again.send(blurred);
  REQUIRE(again.out.size() == 1);
  CHECK(again.out[0].through.size() == 2);
  smooth.send(blurred);
  REQUIRE(smooth.out.size() == 1);
  CHECK(smooth.out[0].through.size() == 1);
  RegisteredGadgetTest<void> checkpoint("checkpoint_writer");
  CHECK_THROWS_WITH(checkpoint.send(blurred), doctest::Contains("went through gaussian_psf"));
}

namespace {

// The lines of a loop with these operators, one after the other, and `last` the name of what is projected.
std::string operator_loop(const std::vector<std::string>& operators, const std::string& resume = "") {
  std::string lines, from = "estimate";
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const std::string name = fmt::format("operated{}", i);
    lines += fmt::format("  {}: {{{}, from: {}}}\n", name, operators[i], from);
    from = name;
  }
  return lines + fmt::format(R"(  projected: {{use: joseph_projector, from: {{events: subsets, image: {}}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}}}
  estimate: {{use: osem_update, from: projected{}}}
)",
                             from, resume);
}

struct OperatorRun {
  RunReport report;
  std::filesystem::path folder;
  Image image() const { return read_nifti(folder / "image.nii.gz"); }
};

OperatorRun run_operators(const std::vector<std::string>& operators, const std::filesystem::path& folder,
                          const std::string& subsets, const std::string& resume = "",
                          const std::string& checkpoint = "") {
  const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [19, 19, 7], voxel_mm: 18}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 2, activity_scale: 0.003, batch_events: 700,
    attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{{}, from: sorted}}
{}
  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0{}}}
  file: {{use: nifti_writer, from: estimate}}
)",
                                       subsets, operator_loop(operators, resume), checkpoint);
  return {Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder}).run(), folder};
}

constexpr const char* live_operator_subsets = "use: live_subsets, seconds: 0.5, iterations: 2";

bool has_same_voxels(const Image& a, const Image& b) {
  return a.grid == b.grid && a.voxels.to_vector() == b.voxels.to_vector();
}

}  // namespace

namespace {

// What operators read: a table of widths, an anatomy and a field, which lie in the folder.
std::vector<std::string> all_operators_in(const std::filesystem::path& folder) {
  std::ofstream(folder / "psf.csv") << "r_mm,z_mm,radial_mm,tangential_mm,axial_mm\n0,0,20,20,24\n150,0,40,22,26\n";
  Image anatomy = Image::zeros(Grid::centred(20, 20, 10, {18, 18, 18}));
  for (std::int64_t v = 0; v < anatomy.voxels.size(); ++v) anatomy.voxels[v] = static_cast<float>(v * v % 11);
  write_nifti(folder / "anatomy.nii.gz", anatomy);
  DisplacementFile{
      .dims = {5, 2, 2, 2, 1, 3, 1, 1},
      .voxel_mm = 360,
      .origin_mm = {-180, -180, -180},
      .value = [](std::size_t c, std::size_t v) { return 4.0f * static_cast<float>(c) + (v % 2 > 0 ? 9 : 2); }}
      .write(folder / "field.nii");
  return {"use: kernel_basis, neighbours: 12, window: 3, anatomy: " + (folder / "anatomy.nii.gz").string(),
          "use: warp, frame: lps, field: " + (folder / "field.nii").string(),
          "use: psf, table: " + (folder / "psf.csv").string(), "use: gaussian_psf, psf_fwhm_mm: [0, 10, 30]"};
}

}  // namespace

TEST_CASE("with operators a run is repeated, followed and resumed to the last bit") {
  const TemporaryFolder folder;
  const std::vector<std::string> operators = all_operators_in(folder.path());
  const OperatorRun whole = run_operators(operators, folder / "whole", live_operator_subsets);
  REQUIRE_MESSAGE(whole.report.exit_code == 0, whole.report.errors[0].text());
  CHECK(whole.report.books.balanced());
  CHECK_FALSE(has_same_voxels(whole.image(), run_operators({}, folder / "plain", live_operator_subsets).image()));
  const std::string follow = fmt::format("{}, follow: {}", live_operator_subsets, (folder / "whole").string());
  const OperatorRun again = run_operators(operators, folder / "again", follow);
  REQUIRE(again.report.exit_code == 0);
  CHECK(has_same_voxels(again.image(), whole.image()));
  const std::int64_t updates = checkpoint_step(folder / "whole").update;
  REQUIRE(updates >= 4);
  const std::filesystem::path stopped = folder / "stopped";
  // Before the first update the writer has one message, the start image.
  const OperatorRun broken =
      run_operators(operators, stopped, follow, "", fmt::format(", fault: {{throw_at: {}}}", updates / 2 + 1));
  REQUIRE(broken.report.exit_code == 1);
  std::filesystem::copy_file(folder / "whole/order.jsonl", stopped / "order.jsonl",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string resume = ", resume_from: " + stopped.string();
  const OperatorRun resumed = run_operators(operators, folder / "resumed", live_operator_subsets + resume, resume);
  REQUIRE_MESSAGE(resumed.report.exit_code == 0, resumed.report.errors[0].text());
  CHECK(has_same_voxels(resumed.image(), whole.image()));
}

TEST_CASE("who reads the coefficients of a basis is told so, and who reads its image too") {
  const TemporaryFolder folder;
  const std::string basis = all_operators_in(folder.path())[0];
  const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [19, 19, 7], voxel_mm: 18}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, events: 5000, attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{use: subset_builder, subsets: 2, iterations: 2, from: sorted}}
{}
  file: {{use: nifti_writer, from: operated0}}
  alpha: {{use: nifti_writer, from: estimate, file: alpha.nii.gz}}
)",
                                       operator_loop({basis}));
  const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder.path()}).run();
  REQUIRE_MESSAGE(report.exit_code == 0, report.errors[0].text());
  const std::filesystem::path image = folder / "image.nii.gz", alpha = folder / "alpha.nii.gz";
  CHECK(read_nifti_filter(image) == "made of kernel coefficients by anatomy.nii.gz (kernel_basis)");
  CHECK(read_nifti_filter(alpha) == "coefficients of kernel_basis, not the image");
  const Image k_alpha = read_nifti(image), coefficients = read_nifti(alpha);
  CHECK_FALSE(has_same_voxels(k_alpha, coefficients));
  RegisteredGadgetTest<Estimate> again("kernel_basis", "{" + basis.substr(basis.find(',') + 2) + "}");
  again.send(Estimate{{.iteration = 1}, std::make_shared<const Image>(coefficients)});
  REQUIRE(again.out.size() == 1);
  CHECK(has_same_voxels(*again.out[0].image, k_alpha));
}

TEST_CASE("files that an operator cannot use are one error with the file's name") {
  const TemporaryFolder folder;
  all_operators_in(folder.path());
  const auto image = std::make_shared<const Image>(Image::zeros(Grid::centred(50, 50, 50, {10, 10, 10})));
  const auto refused = [&](const std::string& name, const std::string& params, const std::string& words) {
    CAPTURE(name);
    const auto send = [&] {
      RegisteredGadgetTest<Estimate> gadget(name, "{" + params + "}");
      gadget.send(Estimate{{.iteration = 1}, image});
    };
    CHECK_THROWS_WITH(send(), doctest::Contains(words.c_str()));
  };
  const std::string anatomy = (folder / "anatomy.nii.gz").string(), field = (folder / "field.nii").string();
  refused("kernel_basis", "anatomy: " + anatomy, "anatomy.nii.gz: it does not cover the image: along x");
  refused("kernel_basis", "anatomy: " + anatomy + ", window: 4", "does not cover");
  refused("kernel_basis", "anatomy: none.nii", "none.nii");
  refused("warp", "frame: ras, field: " + anatomy, "anatomy.nii.gz");
  refused("psf", "table: none.csv", "none.csv");
  DisplacementFile().write(field);
  refused("warp", "frame: ras, field: " + field, "field.nii: it does not cover the image");
}

namespace {

const RunReport& well(const RunReport& report) {
  REQUIRE_MESSAGE(report.exit_code == 0,
                  (report.errors.empty() ? "the books do not balance" : report.errors[0].text()));
  CHECK(report.books.balanced());
  return report;
}

Figure figure_of(const RunReport& report, const std::string& gadget, const std::string& name) {
  return std::ranges::find(report.gadgets, gadget, &GadgetReport::name)->figures.at(name);
}

}  // namespace

TEST_CASE("with operators each frame is the image that it has alone, whatever came before it") {
  const TemporaryFolder folder;
  const std::vector<std::string> operators = all_operators_in(folder.path());
  const auto framing = [](const char* frames) {
    return fmt::format("use: framing, frames: {}, subsets: 2, least_events: 0, iterations: 2", frames);
  };
  const OperatorRun both = run_operators(operators, folder / "both", framing("[1, 1]"));
  well(both.report);
  const OperatorRun second = run_operators(operators, folder / "second", framing("[1-2]"));
  well(second.report);
  const auto images = read_nifti_volumes(folder / "both/image.nii.gz");
  REQUIRE(images.size() == 2);
  CHECK(has_same_voxels(images[1], read_nifti_volumes(folder / "second/image.nii.gz")[0]));
  CHECK_FALSE(has_same_voxels(images[0], images[1]));
  const OperatorRun plain = run_operators({}, folder / "plain", framing("[1, 1]"));
  CHECK_FALSE(has_same_voxels(read_nifti_volumes(folder / "plain/image.nii.gz")[1], images[1]));
}

TEST_CASE("with operators MLEM of a camera's views never steps back, and subsets see the sensitivity through them") {
  const TemporaryFolder folder;
  const std::vector<std::string> operators = all_operators_in(folder.path());
  const auto run = [&](const std::string& subsets, const std::string& name) {
    std::string loop = operator_loop(operators);
    const auto projector = loop.find("  projected:");
    loop = loop.substr(0, projector) + fmt::format(R"(  projected: {{use: rotation_projector, log_likelihood: true,
    from: {{views: subsets, image: operated{}}}}}
  estimate: {{use: osem_update, from: projected}}
)",
                                                   operators.size() - 1);
    const std::string yaml = fmt::format(R"(
backend: cpu
scanner: spect_lehr
image: {{size: [20, 20, 10], voxel_mm: 17.6}}
gadgets:
  photons: {{use: spect_simulator, events: 20000}}
  subsets: {{use: view_subsets, from: photons, {}}}
{}
  file: {{use: nifti_writer, from: estimate}}
)",
                                         subsets, loop);
    return OperatorRun{well(Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / name}).run()),
                       folder / name};
  };
  const OperatorRun mlem = run("subsets: 1, iterations: 3", "mlem");
  const auto likelihood = std::get<std::vector<double>>(figure_of(mlem.report, "projected", "log_likelihood"));
  REQUIRE(likelihood.size() == 3);
  for (std::size_t i = 1; i < likelihood.size(); ++i) CHECK(likelihood[i] > likelihood[i - 1]);
  const OperatorRun osem = run("subsets: 3, iterations: 1", "osem"), again = run("subsets: 3, iterations: 1", "again");
  CHECK(has_same_voxels(osem.image(), again.image()));
  const std::vector<float> voxels = osem.image().voxels.to_vector();
  const auto [least, most] = std::ranges::minmax(voxels);
  MESSAGE("voxels are from ", least, " to ", most);
  REQUIRE((std::isfinite(least) && std::isfinite(most)));
  CHECK(most > 0);
  // The point spread goes by Fourier transforms, which round a little below 0.
  CHECK(least >= -1e-4f * most);
}

TEST_CASE("with operators several ranks give one rank's image, bit for bit") {
  const TemporaryFolder folder;
  const std::vector<std::string> operators = all_operators_in(folder.path());
  const auto run = [&](int ranks) {
    std::string loop = operator_loop(operators);
    loop.insert(loop.find("joseph_projector") + 16,
                fmt::format(", deterministic: true, ranks: {}, rank_parts: 2", ranks));
    const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [19, 19, 7], voxel_mm: 18}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, events: 5000, attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{use: subset_builder, subsets: 2, iterations: 2, from: sorted}}
{}
  file: {{use: nifti_writer, from: estimate}}
)",
                                         loop);
    const std::filesystem::path to = folder / fmt::format("{}", ranks);
    well(Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = to}).run());
    return read_nifti(to / "image.nii.gz");
  };
  CHECK(has_same_voxels(run(1), run(2)));
}

TEST_CASE("kappa is of what is updated: of an image that is shifted before the projector it is shifted back") {
  const TemporaryFolder folder;
  constexpr float shift_mm = 18;  // a voxel along z
  DisplacementFile{.dims = {5, 2, 2, 2, 1, 3, 1, 1},
                   .voxel_mm = 500,
                   .origin_mm = {-250, -250, -250},
                   .value = [](std::size_t c, std::size_t) { return c == 2 ? shift_mm : 0.0f; }}
      .write(folder / "shift.nii");
  const std::string warp = "use: warp, frame: lps, field: " + (folder / "shift.nii").string();
  const auto kappa = [&](const std::vector<std::string>& operators, const Image& x, const std::string& name) {
    const std::filesystem::path file = folder / (name + ".nii.gz");
    write_nifti(file, x);
    std::string loop = operator_loop(operators);
    loop.replace(loop.find("use: osem_update"), 16, "use: kappa_image, reconstruction: " + file.string());
    const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [19, 19, 7], voxel_mm: 18}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 1, activity_scale: 0.01, attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{use: subset_builder, subsets: 1, iterations: 3, from: sorted}}
{}
  file: {{use: nifti_writer, from: estimate}}
)",
                                         loop);
    well(Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / name}).run());
    return read_nifti(folder / name / "image.nii.gz");
  };
  // Shown at p is x at p + u: slice k of what is projected is slice k + 1 of x.
  const Grid grid = Grid::centred(19, 19, 7, {18, 18, 18});
  Image x = Image::zeros(grid), shown = Image::zeros(grid);
  for (int k = 0; k < 7; ++k)
    for (std::int64_t v = 0; v < 361; ++v) {
      x.voxels[361 * k + v] = 10 + static_cast<float>((v + 3 * k) % 5);
      if (k > 0) shown.voxels[361 * (k - 1) + v] = x.voxels[361 * k + v];
    }
  const Image through = kappa({warp}, x, "through"), directly = kappa({}, shown, "directly");
  // Beyond the last slice there is nothing, which lines that reach it know.
  for (int k = 2; k < 5; ++k) {
    const std::int64_t middle = grid.index(9, 9, k);
    CHECK(through.voxels[middle] == approx(directly.voxels[middle - 361]).epsilon(0.1));
  }
  CHECK(through.voxels[grid.index(9, 9, 0)] < 1e-3f * through.voxels[grid.index(9, 9, 3)]);
}
// SPDX-License-Identifier: Apache-2.0
