// Priors against six other programs: values, gradients and diagonals of Hessians of one image, whose folder
// TOFSTREAM_INTEROP_DATA names (priors/README.txt has the definitions). Borders and weights are each program's own.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "tests/kernels/prior_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;
using namespace tofstream::prior_test;

namespace {

// Two further potentials, of MIRT: what a potential must have is in potentials.hpp.
struct Hyperbola {
  double delta;
  template <class T>
  T root(T a, T b) const {
    const T u = (a - b) / static_cast<T>(delta);
    return std::sqrt(1 + u * u);
  }
  template <class T>
  T value(T a, T b) const {
    return static_cast<T>(delta * delta) * (root(a, b) - 1);
  }
  template <class T>
  T slope(T a, T b) const {
    return (a - b) / root(a, b);
  }
};
struct Fair {
  double delta;
  template <class T>
  T value(T a, T b) const {
    const T u = std::abs(a - b) / static_cast<T>(delta);
    return static_cast<T>(delta * delta) * (u - std::log1p(u));
  }
  template <class T>
  T slope(T a, T b) const {
    return (a - b) / (1 + std::abs(a - b) / static_cast<T>(delta));
  }
};
using AnyPotential =
    std::variant<QuadraticPotential, HuberPotential, LogCoshPotential, RelativeDifferencePotential, Hyperbola, Fair>;

constexpr std::array<int, 3> case_size = {24, 20, 12};
constexpr std::size_t case_voxels = 24 * 20 * 12;
constexpr double case_beta = 0.75, tv_epsilon = 0.0625;
constexpr double rdp_epsilon = 0x1p-10;

/// An array of NumPy's format, version 1, of float32 or float64 in C order [x][y][z], as ours: x fastest.
std::vector<double> read_npy(const std::filesystem::path& path, bool* is_double = nullptr) {
  std::ifstream file(path, std::ios::binary);
  char start[10];
  if (!file.read(start, sizeof start)) throw std::runtime_error(path.string() + ": no array");
  std::string header(static_cast<std::size_t>(static_cast<unsigned char>(start[8])) +
                         256 * static_cast<std::size_t>(static_cast<unsigned char>(start[9])),
                     ' ');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  const bool wide = header.find("'<f8'") != std::string::npos;
  if (is_double) *is_double = wide;
  std::vector<double> values(case_voxels);
  for (std::size_t n = 0; n < case_voxels; ++n) {
    const std::size_t z = n % 12, y = n / 12 % 20, x = n / 240;
    float narrow = 0;
    double value = 0;
    file.read(wide ? reinterpret_cast<char*>(&value) : reinterpret_cast<char*>(&narrow), wide ? 8 : 4);
    values[x + 24 * (y + 20 * z)] = wide ? value : static_cast<double>(narrow);
  }
  if (!file) throw std::runtime_error(path.string() + ": too short");
  return values;
}

std::array<double, 27> index_weights() {
  return weights_of({1, 1, 1}, case_beta);
}
std::array<double, 27> mm_weights() {
  return weights_of({2, 2, 3}, case_beta);
}
/// OMEGA: beta 1, and weights that add up to 1.
std::array<double, 27> weights_of_sum_1() {
  auto weights = weights_of({2, 2, 3}, 1);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& w : weights) w /= sum;
  return weights;
}

struct Case {
  AnyPotential potential;
  bool replicate = false;
  bool kappa = false;
  bool positive = false;  // of the image without zeros
  std::array<double, 27> weights = mm_weights();
  double scale = 1;             // their gradient over ours
  std::optional<double> value;  // theirs
  double value_scale = 1;
  const char* hessian = nullptr;
};

const HuberPotential huber{0.25};
const LogCoshPotential log_cosh{1.5};
const RelativeDifferencePotential rdp{2, rdp_epsilon}, rdp_0{2, 0};

std::map<std::string, Case> all_cases() {
  const auto index = index_weights();
  return {
      {"stir_rdp", {.potential = rdp, .value = 2960.05236783534}},
      {"stir_rdp_kappa", {.potential = rdp, .kappa = true, .value = 3391.37974852984}},
      {"stir_rdp_eps0", {.potential = rdp_0, .value = 2961.14324703095}},
      {"stir_rdp_eps0_kappa", {.potential = rdp_0, .kappa = true, .value = 3392.2739136273}},
      {"stir_pos_rdp_eps0", {.potential = rdp_0, .positive = true, .value = 2868.90562647967}},
      {"stir_quadratic", {.value = 8597.36944098302}},
      {"stir_quadratic_kappa", {.kappa = true, .value = 11265.004370831}},
      {"stir_logcosh", {.potential = log_cosh, .value = 5128.98356608776}},
      {"stir_logcosh_kappa", {.potential = log_cosh, .kappa = true, .value = 6522.68244821649}},
      {"magez_rdp",
       {.potential = rdp, .replicate = true, .value = 3040.32464560452, .hessian = "magez_rdp_diag_hessian"}},
      {"magez_rdp_kappa",
       {.potential = rdp,
        .replicate = true,
        .kappa = true,
        .value = 3459.45109357028,
        .hessian = "magez_rdp_kappa_diag_hessian"}},
      {"magez_pos_rdp_eps0",
       {.potential = rdp_0,
        .replicate = true,
        .positive = true,
        .value = 2943.77425397261,
        .hessian = "magez_pos_rdp_eps0_diag_hessian"}},
      {"pytomography_rdp", {.potential = rdp, .replicate = true, .value = 6080.64929120905, .value_scale = 2}},
      {"pytomography_pos_rdp_eps0",
       {.potential = rdp_0, .replicate = true, .positive = true, .value = 5887.54850794523, .value_scale = 2}},
      {"pytomography_quadratic", {.replicate = true, .value = 8763.11157559988}},
      {"pytomography_logcosh", {.potential = log_cosh, .replicate = true, .scale = 1.5}},
      {"omega_pos_rdp_eps0", {.potential = rdp_0, .replicate = true, .positive = true, .weights = weights_of_sum_1()}},
      {"omega_quadratic", {.replicate = true, .weights = weights_of_sum_1()}},
      {"mirt_quadratic", {.value = 8597.36949040424}},
      {"mirt_quadratic_kappa", {.kappa = true, .value = 11265.0044297384}},
      {"mirt_quadratic_indexdist", {.weights = index, .value = 10015.6424182654}},
      {"mirt_huber", {.potential = huber, .value = 2832.09201511789}},
      {"mirt_huber_kappa", {.potential = huber, .kappa = true, .value = 3551.67416808025}},
      {"mirt_huber_indexdist", {.potential = huber, .weights = index, .value = 3284.07392281138}},
      {"mirt_hyperbola", {.potential = Hyperbola{0.25}, .value = 2550.82875602672}},
      {"mirt_hyperbola_kappa", {.potential = Hyperbola{0.25}, .kappa = true, .value = 3207.07772311798}},
      {"mirt_hyperbola_indexdist", {.potential = Hyperbola{0.25}, .weights = index, .value = 2958.8009962787}},
      {"mirt_fair", {.potential = Fair{0.25}, .value = 2004.50431828635}},
      {"mirt_fair_kappa", {.potential = Fair{0.25}, .kappa = true, .value = 2529.31235833138}},
      {"mirt_fair_indexdist", {.potential = Fair{0.25}, .weights = index, .value = 2326.01705484129}},
  };
}

/// The images of the folder as numbers of type T.
template <class T>
struct CaseImages {
  std::vector<T> image, positive, kappa;
  explicit CaseImages(const std::filesystem::path& folder)
      : image(in(read_npy(folder / "image.npy"))),
        positive(in(read_npy(folder / "image_positive.npy"))),
        kappa(in(read_npy(folder / "kappa.npy"))) {}
  static std::vector<T> in(const std::vector<double>& values) { return {values.begin(), values.end()}; }

  detail::NeighbourArrays<T> arrays(const Case& of) const {
    auto arrays = arrays_of(of.positive ? positive : image, case_size, of.weights);
    if (of.kappa) arrays.kappa = kappa.data();
    arrays.replicate = of.replicate;
    return arrays;
  }
  detail::TotalVariationArrays<T> variation(double beta, const std::array<double, 3>& edges) const {
    detail::TotalVariationArrays<T> arrays{.image = image.data(),
                                           .size = {24, 20, 12},
                                           .beta = static_cast<T>(beta),
                                           .epsilon = static_cast<T>(tv_epsilon)};
    for (std::size_t axis = 0; axis < 3; ++axis) arrays.scales[axis] = static_cast<T>(1 / edges[axis]);
    return arrays;
  }
};

/// How far a gradient of type T may be from an array of a program that worked in single or in double precision.
template <class T>
double tolerance(bool is_double) {
  return is_double && sizeof(T) == 8 ? 1e-12 : 1e-6;
}

template <class T>
void check_case(const std::filesystem::path& folder, const CaseImages<T>& images, const std::string& name,
                const Case& of) {
  CAPTURE(name);
  const auto arrays = images.arrays(of);
  bool is_double = false;
  const auto theirs = read_npy(folder / (name + "_grad.npy"), &is_double);
  auto ours = std::visit([&](const auto& psi) { return sums_of(arrays, detail::Slope{}, psi); }, of.potential);
  for (T& g : ours) g *= static_cast<T>(of.scale);
  CHECK(difference(ours, theirs) < tolerance<T>(is_double));
  if (of.value && sizeof(T) == 8) {
    const auto halves =
        std::visit([&](const auto& psi) { return sums_of(arrays, detail::HalfValue{}, psi); }, of.potential);
    CHECK(static_cast<double>(total(halves)) * of.value_scale == approx(*of.value).epsilon(is_double ? 1e-12 : 1e-7));
  }
  if (of.hessian) {
    const auto* psi = std::get_if<RelativeDifferencePotential>(&of.potential);
    REQUIRE(psi);
    CHECK(difference(sums_of(arrays, detail::Curvature{}, *psi),
                     read_npy(folder / (std::string(of.hessian) + ".npy"))) < tolerance<T>(true));
  }
}

bool is_on_a_face(std::size_t v) {
  const std::size_t x = v % 24, y = v / 24 % 20, z = v / 480;
  return x == 0 || x == 23 || y == 0 || y == 19 || z == 0 || z == 11;
}

template <class T>
void check_variation(const std::filesystem::path& folder, const CaseImages<T>& images) {
  const auto in_mm = images.variation(case_beta, {2, 2, 3}), in_steps = images.variation(case_beta, {1, 1, 1});
  const auto of = [&](const char* name) { return read_npy(folder / (std::string(name) + "_grad.npy")); };
  CHECK(difference(sums_of(in_mm, detail::Slope{}), of("cil_tv_mm")) < tolerance<T>(true));
  CHECK(difference(sums_of(in_steps, detail::Slope{}), of("cil_tv_unit")) < tolerance<T>(true));
  auto omega = of("omega_tv_unit");
  auto ours = sums_of(images.variation(1, {1, 1, 1}), detail::Slope{});
  for (std::size_t v = 0; v < case_voxels; ++v)
    if (is_on_a_face(v)) ours[v] = 0, omega[v] = 0;  // where its differences wrap around
  CHECK(difference(ours, omega) < tolerance<T>(true));
  if (sizeof(T) < 8) return;
  // Ours is 0 for a constant image.
  const double flat = case_beta * tv_epsilon * static_cast<double>(case_voxels);
  CHECK(static_cast<double>(total(sums_of(in_mm, detail::HalfValue{}))) + flat ==
        approx(1490.5913000052).epsilon(1e-12));
  CHECK(static_cast<double>(total(sums_of(in_steps, detail::HalfValue{}))) + flat ==
        approx(3163.53905713176).epsilon(1e-12));
}

/// CIL's Huber prior is of differences along the axes over the edge in mm: h_delta(d / e) = h_(delta e)(d) / e^2.
template <class T>
std::vector<T> huber_of_axis(const CaseImages<T>& images, std::size_t axis, double edge) {
  Case of{.potential = HuberPotential{0.25 * edge}, .weights = {}};
  const std::size_t step = axis == 0 ? 1 : axis == 1 ? 3 : 9;
  of.weights[13 - step] = of.weights[13 + step] = case_beta / (edge * edge);
  return sums_of(images.arrays(of), detail::Slope{}, std::get<HuberPotential>(of.potential));
}

template <class T>
void check_all_cases(const std::filesystem::path& folder) {
  const CaseImages<T> images(folder);
  for (const auto& [name, of] : all_cases()) check_case(folder, images, name, of);
  check_variation(folder, images);
  auto huber6 = huber_of_axis(images, 0, 2);
  for (const auto& [axis, edge] : {std::pair<std::size_t, double>{1, 2}, {2, 3}}) {
    const auto more = huber_of_axis(images, axis, edge);
    for (std::size_t v = 0; v < case_voxels; ++v) huber6[v] += more[v];
  }
  CHECK(difference(huber6, read_npy(folder / "cil_huber6_mm_grad.npy")) < tolerance<T>(true));
}

std::filesystem::path priors_folder_or_skip() {
  const auto folder = interop_folder_or_skip();
  return folder.empty() ? folder : folder / "priors";
}

}  // namespace

TEST_CASE("priors are those of six other programs: to 1e-12 in double precision where the program has it") {
  const auto folder = priors_folder_or_skip();
  if (!folder.empty()) check_all_cases<double>(folder);
}

TEST_CASE("priors in single precision are those of six other programs to 1e-6") {
  const auto folder = priors_folder_or_skip();
  if (!folder.empty()) check_all_cases<float>(folder);
}
// SPDX-License-Identifier: Apache-2.0
