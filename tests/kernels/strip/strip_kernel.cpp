// The mathematics of two strips in double precision: the field's public test values, integrals over the emission angle
// by brute force, the ellipse, the sensitivity. Public values are the numbers in the tests of
// JPETTomography/j-pet-mlem-old, src/2d/strip; some are in m.
#include "kernels/strip/sensitivity.hpp"
#include "tests/kernels/strip/strip_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr double degree = std::numbers::pi / 180;

StripSettings strips(float radius_mm, float length_mm, float sigma_z_mm = 10, float sigma_dl_mm = 40) {
  return {{radius_mm, length_mm}, {sigma_z_mm, sigma_dl_mm}};
}
/// A sigma that rises by a tenth, and a coupling of a fifth of the possible.
StripSettings coupled() {
  StripSettings settings;
  settings.resolution.sigma_z_edge_rise = 0.1f;
  settings.resolution.gamma_per_mm2 = 3.5e-4f;
  return settings;
}
StripEventTerms<double> terms_of(StripForm form, const StripSettings& settings, const Response& response) {
  return StripEventTerms<double>::make(form, settings.geometry, settings.resolution, response);
}

/// An event and a pixel within its ellipse.
struct Pair {
  Response response;
  double y, z;
};

/// 50 events of decays in the body of jpet.md's phantom: 5 rings of equal area, 5 sectors, 2 halves of the angles
/// that the strips see; and 20 pixels in each one's ellipse: 5 rings of equal area, 4 quadrants.
std::vector<Pair> stratified_pairs(const StripSettings& settings, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> share;
  std::normal_distribution<double> normal;
  std::vector<Pair> pairs;
  for (int event = 0; event < 50; ++event) {
    const double out = std::sqrt((event % 5 + share(generator)) / 5);
    const double around = 2 * std::numbers::pi / 5 * (event / 5 % 5 + share(generator));
    const double y = 110 * out * std::sin(around), z = 120 * out * std::cos(around);
    const StripAngles<double> angles = strip_angles(settings.geometry, y, z);
    const double angle = angles.low + (angles.high - angles.low) * (event / 25 + share(generator)) / 2;
    Response r = strip_response(settings.geometry, Emission{std::tan(angle), y, z});
    r.z_up_mm += strip_sigma_z(settings.resolution, settings.geometry, r.z_up_mm) * normal(generator);
    r.z_down_mm += strip_sigma_z(settings.resolution, settings.geometry, r.z_down_mm) * normal(generator);
    r.dl_mm += static_cast<double>(settings.resolution.sigma_dl_mm) * normal(generator);
    const auto terms = terms_of(StripForm::eq7, settings, r);
    for (int pixel = 0; pixel < 20; ++pixel) {
      const double radius = 3 * std::sqrt((pixel / 4 + share(generator)) / 5);
      const double turn = std::numbers::pi / 2 * (pixel % 4 + share(generator));
      const double dy = radius * std::cos(turn) / std::sqrt(terms.along);
      const double shift = radius * std::sin(turn) / std::sqrt(terms.across);
      pairs.push_back({r, terms.y + dy, terms.z + shift + dy * terms.tan});
    }
  }
  return pairs;
}

/// The mean absolute difference of P and the integral over the angles that it approximates, divided by the mean
/// integral.
double mean_error(StripForm form, const StripSettings& settings) {
  double error = 0, sum = 0;
  for (const Pair& pair : stratified_pairs(settings, 3)) {
    const auto angles = form == StripForm::full ? strip_angles(settings.geometry, pair.y, pair.z) : all_angles();
    const double integral = angle_integral(settings, pair.response, pair.y, pair.z, angles);
    error += std::abs(density_of(form, settings, pair.response, pair.y, pair.z) - integral);
    sum += integral;
  }
  return error / sum;
}

}  // namespace

TEST_CASE("Two strips turn emissions into responses and back as the public values say") {
  const StripGeometry geometry{450, 200};
  struct Known {
    double y, z, angle, tan;
    Response response;
  };
  for (const Known& known :
       {Known{10, 20, 7, 0.1227845609029046, {74.02520679727803, -36.480898015336116, -20.15019650917697}},
        Known{-10, 37, -5, -0.08748866352592401, {-3.244785221925042, 75.49501195140655, 20.076396750866948}}}) {
    const double tan = std::tan(known.angle * degree);
    CHECK(tan == approx(known.tan).epsilon(1e-12));
    const Response r = strip_response(geometry, Emission{tan, known.y, known.z});
    CHECK(r.z_up_mm == approx(known.response.z_up_mm).epsilon(1e-12));
    CHECK(r.z_down_mm == approx(known.response.z_down_mm).epsilon(1e-12));
    CHECK(r.dl_mm == approx(known.response.dl_mm).epsilon(1e-12));
    const Emission back = strip_emission(geometry, r);
    CHECK(back.tan == approx(tan).epsilon(1e-12));
    CHECK(back.y_mm == approx(known.y).epsilon(1e-12));
    CHECK(back.z_mm == approx(known.z).epsilon(1e-12));
  }
}

TEST_CASE("An event's ToF points from the upper strip to the lower one") {
  // Nearer the upper strip: that photon came first.
  const StripGeometry geometry;
  const EventBatch batch = strip_batch(geometry, {strip_response(geometry, Emission{0.3, 40, -20})});
  CHECK(batch.tof_mm[0] < 0);
  const Emission back = strip_emission(geometry, strip_response<double>(batch.view(), 0));
  CHECK(back.y_mm == approx(40).epsilon(1e-6));
  CHECK(back.z_mm == approx(-20).epsilon(1e-6));
  CHECK(back.tan == approx(0.3).epsilon(1e-6));
}

// That program's kernel is the gaussian form with the same factor 1 / (2 pi^2), in 1/m^3, and has no cut at 3 sigma:
// pixels beyond are compared by the terms before the cut.
TEST_CASE("The gaussian form has the public values") {
  const StripSettings settings = strips(350, 500);
  struct Known {
    double angle, y, dz, dy, value;
  };
  for (const Known& known : {Known{30, 100, 0, 0, 184.304974530866}, Known{30, 100, 50, 100, 5.272096361578383e-6},
                             Known{30, 100, -50, -50, 0.0338473429952690}, Known{45, -300, 0, 0, 95.87658397191050},
                             Known{45, -300, -50, -50, 0.1719727908599724}}) {
    const Response r = strip_response(settings.geometry, Emission{std::tan(known.angle * degree), known.y, 30});
    const auto event = terms_of(StripForm::gaussian, settings, r);
    const auto row = single_lane::strip_row<double>(event, known.dy);
    const auto pixel = row.at<StripForm::gaussian>(event, known.dz - known.dy * event.tan);
    CHECK(1e9 * event.scale / std::sqrt(pixel.norm) * std::exp(-pixel.squared / 2) ==
          approx(known.value).epsilon(1e-11));
    const double found = density_of(StripForm::gaussian, settings, r, known.y + known.dy, 30 + known.dz);
    CHECK(1e9 * found == approx(pixel.squared > 9 ? 0 : known.value).epsilon(1e-11));
  }
}

TEST_CASE("The sensitivity of two strips has the public values, and is the share of angles that the strips see") {
  struct Known {
    StripGeometry geometry;
    double y, z, value;
  };
  for (const Known& known :
       {Known{{500, 1000}, 0, 0, 0.5}, Known{{500, 1000}, 0, 50, 0.46652458328685176},
        Known{{500, 1000}, 100, -50, 0.4410019151324715}, Known{{500, 1000}, -200, -450, 0.07526632771111386},
        Known{{450, 200}, 0, 0, 0.1392089745461279}, Known{{450, 200}, 0, 50, 0.07044657495455454},
        Known{{450, 200}, 100, -50, 0.07402517367717103}, Known{{450, 200}, -200, -70, 0.05269621503719814}}) {
    CHECK(strip_sensitivity(known.geometry, known.y, known.z) == approx(known.value).epsilon(1e-12));
    const double half = 0.5 * static_cast<double>(known.geometry.length_mm);
    int seen = 0;
    constexpr int angles = 100000;
    for (int a = 0; a < angles; ++a) {
      const double tan = std::tan(std::numbers::pi * ((a + 0.5) / angles - 0.5));
      const Response r = strip_response(known.geometry, Emission{tan, known.y, known.z});
      seen += std::abs(r.z_up_mm) <= half && std::abs(r.z_down_mm) <= half;
    }
    CHECK(static_cast<double>(seen) / angles == approx(known.value).epsilon(1e-4));
  }
  for (const auto& [y, z] : {std::array{0.0, 500.0}, {0.0, -501.0}, {500.0, 0.0}, {-700.0, 10.0}, {499.9, 500.1}})
    CHECK(strip_sensitivity(StripGeometry{500, 1000}, y, z) == approx(0).epsilon(1e-12));
  const Grid grid{{1, 3, 5}, {4, 4, 4}, {0, -10, -140}};
  const Image image = strip_sensitivity_image({}, grid);
  CHECK(image.voxels[grid.index(0, 2, 3)] == approx(strip_sensitivity(StripGeometry{}, -2.0, -128.0)));
}

TEST_CASE("The box around the ellipse has the public sizes") {
  const StripSettings settings = strips(500, 1000, 10, 63);
  for (const auto& [angle, height, width] : {std::array{0.0470448, 94.3954, 21.6737},
                                             {-0.594145, 78.3053, 56.9959},
                                             {0.20029, 92.6108, 28.3458},
                                             {-0.571667, 79.4745, 55.3539},
                                             {-0.420542, 86.266, 44.0276}}) {
    const auto event =
        terms_of(StripForm::eq7, settings, strip_response(settings.geometry, Emission{std::tan(angle), 20, -30}));
    CHECK(event.half_height() == approx(height).epsilon(1e-5));
    CHECK(event.half_width() == approx(width).epsilon(1e-5));
  }
}

TEST_CASE("Rows and columns have eq. 7's products with any covariance") {
  const StripSettings settings = coupled();
  for (const Pair& pair : stratified_pairs(settings, 11)) {
    const auto event = terms_of(StripForm::eq7, settings, pair.response);
    const auto c = strip_precision(settings.resolution, settings.geometry, pair.response);
    const double R = static_cast<double>(settings.geometry.radius_mm), dy = pair.y - event.y, dz = pair.z - event.z;
    const double tan = event.tan, sec = std::sqrt(1 + tan * tan);
    using Vector = std::array<double, 3>;
    const auto product = [&](const Vector& a, const Vector& b) {
      return c.up * a[0] * b[0] + c.down * a[1] * b[1] + c.dl * a[2] * b[2] +
             c.cross * (a[0] * b[2] + a[2] * b[0] - a[1] * b[2] - a[2] * b[1]);
    };
    const Vector a{(R - pair.y) * sec * sec, -(R + pair.y) * sec * sec, -2 * pair.y * sec * tan};
    const Vector o{a[0] * tan, a[1] * tan, -pair.y * sec * (1 + 2 * tan * tan)};
    const Vector b{dz - dy * tan, dz - dy * tan, -2 * dy * sec};
    const auto gaussian = terms_of(StripForm::gaussian, settings, pair.response);
    using namespace single_lane;
    for (const auto& pixel : {strip_row<double>(event, dy).at<StripForm::eq7>(event, b[0]),
                              strip_column<StripForm::eq7>(event, dz).at<StripForm::eq7>(dy)}) {
      CHECK(pixel.squared == approx(product(b, b)).epsilon(1e-11));
      CHECK(pixel.norm == approx(product(a, a) + 2 * product(o, b)).epsilon(1e-11));
      CHECK(std::abs(pixel.mixed - product(a, b)) < 1e-11 * std::sqrt(product(a, a)));
    }
    for (const auto& pixel : {strip_row<double>(gaussian, dy).at<StripForm::gaussian>(gaussian, b[0]),
                              strip_column<StripForm::gaussian>(gaussian, dz).at<StripForm::gaussian>(dy)}) {
      CHECK(pixel.squared == approx(product(b, b)).epsilon(1e-11));
      CHECK(pixel.norm == approx(product(a, a)).epsilon(1e-11));
    }
  }
}

TEST_CASE("Each form of P is the integral over the emission angle to within what jpet.md says") {
  CHECK(mean_error(StripForm::full, {}) < 0.015);
  CHECK(mean_error(StripForm::eq7, {}) < 0.015);
  CHECK(mean_error(StripForm::gaussian, {}) == approx(0.0625).epsilon(0.01));
  // gamma brings in the response's curvature, so the expansion is less exact.
  CHECK(mean_error(StripForm::full, coupled()) < 0.018);
  CHECK(mean_error(StripForm::eq7, coupled()) < 0.018);
}

TEST_CASE(
    "P of a point integrates to its sensitivity in the full form, and the gaussian form loses weight off the centre") {
  // Means over simulated events, each weighed by 1 / its true density: integrals over all events.
  struct Known {
    double y, z, gaussian_to_eq7;
  };
  for (const Known& known : {Known{0, 0, 1.00}, Known{50, 0, 0.93}, Known{-80, 0, 0.86}, Known{0, 80, 1.00}}) {
    const StripSettings settings;
    const auto angles = strip_angles(settings.geometry, known.y, known.z);
    double sums[3] = {};
    constexpr int events = 400;
    for (const Response& r : simulated(settings, events, 3, [&](auto&) { return std::array{known.y, known.z}; })) {
      const double density = angle_integral(settings, r, known.y, known.z, angles);
      int form = 0;
      for (const StripForm which : {StripForm::full, StripForm::eq7, StripForm::gaussian})
        sums[form++] += density_of(which, settings, r, known.y, known.z) / density / events;
    }
    // The ellipse of 3 sigma leaves out some percent.
    CHECK(sums[0] > 0.965);
    CHECK(sums[0] < 1);
    CHECK(sums[2] / sums[1] == approx(known.gaussian_to_eq7).epsilon(0.01));
  }
}

TEST_CASE("The ellipse touches its box, and the box of pixels leaves none out") {
  const StripSettings settings;
  const Grid grid = Grid::centred(1, 65, 75, {4, 4, 4}), narrow{{1, 7, 3}, {1, 3, 9}, {0, -20, 5}};
  for (const double tan : {0.0, 1e-6, 0.4, -1.1, 3.0, -40.0})
    for (const auto& [y, z] : {std::array{0.0, 0.0}, {70.0, -60.0}, {-129.0, 149.0}, {200.0, 0.0}, {0.0, -900.0}}) {
      const auto event = terms_of(StripForm::eq7, settings, strip_response(settings.geometry, Emission{tan, y, z}));
      const double height = event.half_height(), width = event.half_width();
      const double steepness = event.along + event.across * tan * tan;
      for (const double sign : {1.0, -1.0}) {
        const double at = sign * event.across * tan * width / steepness;  // dy where dz is greatest
        CHECK(event.in_ellipse(sign * height * (1 - 1e-9), sign * height * tan));
        CHECK_FALSE(event.in_ellipse(sign * height * (1 + 1e-9), sign * height * tan));
        CHECK(event.in_ellipse(at, sign * width * (1 - 1e-9)));
        CHECK_FALSE(event.in_ellipse(at, sign * width * (1 + 1e-9)));
      }
      for (const Grid& pixels : {grid, narrow}) {
        const StripBox box = strip_box(event, pixels);
        for (int k = 0; k < pixels.size[2]; ++k)
          for (int j = 0; j < pixels.size[1]; ++j) {
            const Vec3d centre = pixels.centre(0, j, k).as<double>();
            if (!event.in_ellipse(centre.y - event.y, centre.z - event.z)) continue;
            CHECK((j >= box.y_first && j <= box.y_last && k >= box.z_first && k <= box.z_last));
          }
      }
    }
  // Pixels exactly at both ends of the box belong to it.
  const auto event = terms_of(StripForm::eq7, settings, strip_response(settings.geometry, Emission{0, 0, 0}));
  const auto at = static_cast<float>(event.half_height()), beside = static_cast<float>(event.half_width());
  const StripBox box = strip_box(event, Grid{{1, 3, 3}, {1, at, beside}, {0, -at, -beside}});
  CHECK((box.y_first == 0 && box.y_last == 2 && box.z_first == 0 && box.z_last == 2));
  for (const double wrong : {std::nan(""), std::numeric_limits<double>::infinity(), 1e200}) {
    const StripBox none = strip_box(terms_of(StripForm::full, settings, {wrong, 0, 0}), grid);
    CHECK(none.z_first > none.z_last);
  }
}

TEST_CASE("N is held at a tenth of its leading term, which changes nothing between the paper's strips") {
  const StripSettings settings{.form = StripForm::eq7};
  const double radius = settings.geometry.radius_mm, half_length = 0.5 * settings.geometry.length_mm;
  double least = 1e9;
  for (double up = -half_length; up <= half_length; up += 25)
    for (double down = -half_length; down <= half_length; down += 25)
      for (double dl = -2 * radius; dl <= 2 * radius; dl += 40) {
        const auto e = StripEventTerms<double>::make(settings.form, settings.geometry, settings.resolution,
                                                     Response{up, down, dl});
        for (double dy = -e.half_height(); dy <= e.half_height(); dy += 5)
          for (double dz = -e.half_width(); dz <= e.half_width(); dz += 5) {
            if (!e.in_ellipse(dy, dz) || std::abs(e.y + dy) > radius || std::abs(e.z + dz) > half_length) continue;
            const auto row = single_lane::strip_row<double>(e, dy);
            least = std::min(least, row.at<StripForm::eq7>(e, dz - dy * e.tan).norm / (10 * e.least_norm));
          }
      }
  CHECK(least > 0.99);
  CHECK(least < 1.01);
}
// SPDX-License-Identifier: Apache-2.0
