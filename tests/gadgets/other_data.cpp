// A second kind of data, which nothing in the tree knows, with the code that all kinds share: a camera's views, where
// each subset sees a part of the image, go through Subset, LiveUpdates, Step and osem_update to the closed form.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/step/step-inl.hpp"
#include "gadgets/subset/live_updates-inl.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

constexpr int voxels = 4;
using Row = std::array<float, voxels>;  // weights a_ij of a count

struct RowsView {
  std::int64_t count = 0;
  const Row* rows = nullptr;
  const float* counts = nullptr;
  const float* additive = nullptr;
};

/// Counts y_i of some views.
struct CameraRows {
  std::int64_t count = 0;
  std::vector<Row> rows = {};
  std::vector<float> counts = {};

  Memory memory() const { return Memory::host; }
  CameraRows to(Memory, Stream = nullptr) const { return *this; }
  RowsView view() const { return {count, rows.data(), counts.data()}; }
  std::uint64_t event_count() const { return static_cast<std::uint64_t>(count); }
  std::size_t bytes() const { return rows.size() * (sizeof(Row) + sizeof(float)); }
};

float expectation(const Row& row, const float* image) {
  return std::inner_product(row.begin(), row.end(), image, 0.0f);
}

void add(const Row& row, float value, float* image) {
  for (std::size_t v = 0; v < voxels; ++v) image[v] += row[v] * value;
}

class CameraProjector final : public Projector<RowsView> {
 public:
  explicit CameraProjector(const Grid& grid) : grid_(grid) {}
  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cpu; }
  void forward(const RowsView& views, const float* image, float* expected, Stream) override {
    for (std::int64_t i = 0; i < views.count; ++i) expected[i] = expectation(views.rows[i], image);
  }
  void back(const RowsView& views, const float* values, float* image, Stream) override {
    for (std::int64_t i = 0; i < views.count; ++i) add(views.rows[i], values ? values[i] : 1, image);
  }
  EmTally em_step(const RowsView& views, const float* image, float* accumulator, Stream) override {
    for (std::int64_t i = 0; i < views.count; ++i) {
      const float expected = expectation(views.rows[i], image) + (views.additive ? views.additive[i] : 0.0f);
      add(views.rows[i], views.counts[i] / expected, accumulator);
    }
    return {.used = views.count};
  }

 private:
  Grid grid_;
};

// The scan: what the first subset sees, and the second; the last voxel is seen by neither.
const std::vector<std::vector<Row>> scan{{{2, 1, 0, 0}, {1, 3, 0, 0}}, {{0, 1, 2, 0}, {0, 2, 1, 0}}};
constexpr Row activity{3, 5, 7, 9};

class CameraModel final : public SystemModel<CameraRows> {
 public:
  void prepare(const Subset<CameraRows>& first, const Estimate& estimate, Context&) override {
    CHECK(first.announced);
    projector_ = std::make_unique<CameraProjector>(estimate.image->grid);
    Image whole = Image::zeros(estimate.image->grid);
    for (const auto& rows : scan)
      for (const Row& row : rows) add(row, 1, whole.voxels.data());
    whole_ = std::make_shared<const Image>(std::move(whole));
  }
  Projector<RowsView>& projector() override { return *projector_; }
  SubsetSensitivity sensitivity(const Subset<CameraRows>& subset) override {
    if (subset.batches.empty()) return {whole_};
    auto& own = own_[subset.batches.front().get()];
    if (!own) {
      Image image = Image::zeros(projector_->grid());
      for (const auto& batch : subset.batches) projector_->back(batch->view(), nullptr, image.voxels.data(), nullptr);
      own = std::make_shared<const Image>(std::move(image));
    }
    return {own, 1, whole_};
  }
  std::shared_ptr<const Quantity> quantity(const Subset<CameraRows>&, const NamedCorrection*, Context&) override {
    return nullptr;
  }
  Modality modality() const override { return Modality::spect; }
  DataWords words() const override { return {"counts", "no view of them sees the image"}; }
  Missed missed() const override { return {"turn the camera"}; }

 private:
  std::unique_ptr<CameraProjector> projector_;
  std::shared_ptr<const Image> whole_;
  std::map<const CameraRows*, std::shared_ptr<const Image>> own_;
};

}  // namespace

template <>
struct PayloadName<CameraRows> {
  static constexpr auto value = "rows of a camera";
};
template <>
struct PayloadName<Subset<CameraRows>> {
  static constexpr auto value = "subset of rows of a camera";
};
template <>
struct PayloadName<Additive<CameraRows>> {
  static constexpr auto value = "additive terms of rows of a camera";
};

namespace {

struct CameraSource {
  struct Params {
    double background = 0;
  };
  static constexpr auto params = describe(param<&Params::background>("background", "Counts more in each row"));
  explicit CameraSource(const Params& p) : background_(static_cast<float>(p.background)) {}

  void run(Emit<CameraRows>& emit, std::stop_token, Context& context) {
    for (const auto& rows : scan) {
      CameraRows views{.count = static_cast<std::int64_t>(rows.size()), .rows = rows};
      for (const Row& row : rows) views.counts.push_back(expectation(row, activity.data()) + background_);
      context.books().received(views.event_count());
      emit(std::move(views));
    }
  }

 private:
  float background_;
};
TOFSTREAM_GADGET(CameraSource, "test_view_source", "Counts of a camera's views");

struct CameraSubsets {
  static constexpr bool own_thread = true;
  explicit CameraSubsets(Context& context)
      : updates_(
            {.iterations = 300, .final = Final::offline, .order = "order.jsonl"}, LiveOrder({.iterations = 300}),
            [] { return nullptr; }, context) {}
  void process(std::shared_ptr<const CameraRows> views, Context& context) {
    updates_.announce({});
    updates_.arrive({.batches = {std::move(views)}}, context);
  }
  bool idle(Emit<Subset<CameraRows>>& emit, Context& context) { return updates_.idle(emit, context); }
  void flush(Emit<Subset<CameraRows>>& emit, Context& context) { updates_.flush(emit, context); }

 private:
  LiveUpdates<CameraRows> updates_;
};
TOFSTREAM_GADGET(CameraSubsets, "test_view_subsets", "A subset of each message of views");

struct CameraPasses {
  static constexpr bool own_thread = true;
  void process(std::shared_ptr<const CameraRows> views, Emit<Subset<CameraRows>>& emit, Context& context) {
    updates_.announce({}, emit, context);
    updates_.arrive({.batches = {std::move(views)}}, context.message(), emit, context);
  }
  void flush(Emit<Subset<CameraRows>>& emit, Context& context) { updates_.finish(emit, context); }

 private:
  OfflineUpdates<CameraRows> updates_{{.iterations = 300}, [] { return nullptr; }};
};
TOFSTREAM_GADGET(CameraPasses, "test_view_passes", "A subset of each message of views, offline");

struct CameraInputs {
  std::shared_ptr<const Subset<CameraRows>> views;
  std::shared_ptr<const Estimate> image;
  std::shared_ptr<const Additive<CameraRows>> additive;
  static constexpr bool takes_announcements = true;
  static constexpr auto inputs =
      ports(port<&CameraInputs::views>("views"), port<&CameraInputs::image>("image", feedback),
            Port<&CameraInputs::additive>{.name = "additive", .is_feedback = true, .is_optional = true});
};

struct CameraProjectorGadget {
  static constexpr bool own_thread = true;
  void process(CameraInputs inputs, Emit<Projected>& emit, Context& context) {
    emit(step_(*inputs.views, *inputs.image, inputs.additive.get(), context));
  }
  void flush() { step_.finish(); }

 private:
  Step<CameraRows> step_{{.backend = BackendChoice::cpu}, std::make_unique<CameraModel>()};
};
TOFSTREAM_GADGET(CameraProjectorGadget, "test_view_projector", "Projects views");

constexpr float background = 4;
struct CameraTerms final : AdditiveTerms<CameraRows> {
  void write(const CameraRows& views, float* to) const override { std::fill_n(to, views.count, background); }
};

struct CameraTermInputs {
  std::shared_ptr<const Subset<CameraRows>> views;
  std::shared_ptr<const Estimate> image;
  static constexpr auto inputs =
      ports(port<&CameraTermInputs::views>("views"), port<&CameraTermInputs::image>("image", feedback));
};

struct CameraEstimator {
  struct Params {
    bool of_another = false;
  };
  static constexpr auto params = describe(param<&Params::of_another>("of_another", "Say that it is of another image"));
  static constexpr bool own_thread = true;
  explicit CameraEstimator(const Params& p) : of_another_(p.of_another) {}
  void process(CameraTermInputs inputs, Emit<Additive<CameraRows>>& emit) {
    const auto image =
        of_another_ ? std::make_shared<const Image>(Image::zeros(inputs.image->image->grid)) : inputs.image->image;
    emit(Additive<CameraRows>{image, inputs.views->step.iteration > 1 ? terms_ : nullptr, {}});
  }

 private:
  bool of_another_;
  std::shared_ptr<const CameraTerms> terms_ = std::make_shared<const CameraTerms>();
};
TOFSTREAM_GADGET(CameraEstimator, "test_view_background", "The background of all rows, from the second iteration on");

std::vector<std::shared_ptr<const Estimate>>& estimates() {
  static std::vector<std::shared_ptr<const Estimate>> all;
  return all;
}
struct KeepAll {
  void process(std::shared_ptr<const Estimate> estimate) { estimates().push_back(std::move(estimate)); }
};
TOFSTREAM_GADGET(KeepAll, "test_keep_all", "Keeps all estimates");

std::string pipeline(const std::string& projector, const std::string& subsets = "test_view_subsets",
                     const std::string& source = "test_view_source", const std::string& more = "") {
  return fmt::format(R"(
backend: cpu
gadgets:
  photons: {{use: {2}}}
  subsets: {{use: {1}, from: photons}}
  projected: {{use: {0}, image: estimate}}}}
  estimate: {{use: osem_update, from: projected, image: {{size: [4, 1, 1]}}}}
  kept: {{use: test_keep_all, from: estimate}}
{3})",
                     projector, subsets, source, more);
}

std::vector<float> image_of(const Estimate& estimate) {
  return estimate.image->voxels.to_vector();
}

}  // namespace

TEST_CASE("projections with a sensitivity for each subset are reconstructed live and offline by what all kinds share") {
  const TemporaryFolder folder;
  estimates().clear();
  const RunReport report = Engine(parse_pipeline(pipeline("test_view_projector, from: {views: subsets"), "test.yaml"),
                                  {.output_dir = folder.path()})
                               .run();
  REQUIRE(report.exit_code == 0);
  CHECK(report.books.balanced());
  CHECK(report.books.received == 4);
  std::vector<std::shared_ptr<const Estimate>> updates, restarts;
  for (const auto& estimate : estimates()) {
    if (estimate->step.restart) restarts.push_back(estimate);
    if (estimate->step.iteration > 0) updates.push_back(estimate);
  }
  REQUIRE(updates.size() >= 2);
  REQUIRE(restarts.size() == 1);
  CHECK(image_of(*restarts[0]) == std::vector<float>{1, 1, 1, 1});
  const std::vector<float> first = image_of(*updates.front());
  CHECK(first[0] == approx((2 * 11.0 / 3 + 18.0 / 4) / 3));  // the subset's own ratio over its own sensitivity
  CHECK(first[2] == 1);                                      // seen only by the other subset: unchanged
  CHECK(first[3] == 0);                                      // seen by none
  const std::vector<float> last = image_of(*updates.back());
  for (std::size_t v = 0; v + 1 < voxels; ++v) CHECK(last[v] == approx(activity[v]).epsilon(1e-4));
  CHECK(last[3] == 0);
  CHECK(updates.back()->step.last);
  const auto projected = std::ranges::find(report.gadgets, "projected", &GadgetReport::name);
  CHECK(projected->figures.at(updates_figure) == Figure(static_cast<std::int64_t>(updates.size())));

  estimates().clear();
  const TemporaryFolder offline;
  const auto views = pipeline("test_view_projector, from: {views: subsets", "test_view_passes");
  REQUIRE(Engine(parse_pipeline(views, "test.yaml"), {.output_dir = offline.path()}).run().exit_code == 0);
  REQUIRE(estimates().size() > 600);
  CHECK(estimates().back()->step.iteration == 300);
  CHECK(image_of(*estimates().back()) == last);
}

TEST_CASE("terms that an estimator gives while data are reconstructed are part of the expectation from then on") {
  const auto with_terms = [](const std::string& estimator) {
    return parse_pipeline(pipeline("test_view_projector, from: {additive: background, views: subsets",
                                   "test_view_passes", "test_view_source, background: 4",
                                   "  background: {" + estimator + ", from: {views: subsets, image: estimate}}\n"),
                          "test.yaml");
  };
  estimates().clear();
  const TemporaryFolder folder;
  REQUIRE(Engine(with_terms("use: test_view_background"), {.output_dir = folder.path()}).run().exit_code == 0);
  const auto second = std::ranges::find_if(estimates(), [](const auto& e) { return e->step.iteration == 2; });
  REQUIRE(second - estimates().begin() > 1);
  const std::vector<float> without = image_of(**(second - 1));
  CHECK(expectation(scan[0][0], without.data()) > 1.1f * expectation(scan[0][0], activity.data()));
  const std::vector<float> last = image_of(*estimates().back());
  for (std::size_t v = 0; v + 1 < voxels; ++v) CHECK(last[v] == approx(activity[v]).epsilon(1e-3));

  const TemporaryFolder other;
  const RunReport refused =
      Engine(with_terms("use: test_view_background, of_another: true"), {.output_dir = other.path()}).run();
  REQUIRE(refused.errors.size() == 1);
  CHECK(refused.errors[0].text().find("the additive terms belong to another estimate") != std::string::npos);
}

TEST_CASE("a subset of one kind of data is refused by a projector of another before data flow") {
  CHECK_THROWS_WITH_AS(parse_pipeline(pipeline("joseph_projector, from: {events: subsets"), "test.yaml"),
                       doctest::Contains("subset of rows of a camera"), ConfigErrors);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
