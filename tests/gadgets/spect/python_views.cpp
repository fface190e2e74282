// Views pass through a Python gadget: values, places, books, and what cannot go on.
#include <cstring>

#include "gadgets/views.hpp"
#include "tests/gadgets/python_support.hpp"

namespace tofstream {
namespace {

std::shared_ptr<const ViewSet> python_plan() {
  static const auto set = [] {
    auto made =
        std::make_shared<ViewSet>(ViewSet{.name = "a camera", .collimator = "LEHR", .pixel_mm = {4.418F, 3.32F, 0}});
    made->size[0] = 3;
    made->size[1] = 2;
    made->windows = {{126.45F, 154.55F}, {100, 120}};
    for (int v = 0; v < 5; ++v)
      made->places.push_back({.angle_deg = 72.3F * static_cast<float>(v),
                              .radius_mm = 150.1F,
                              .centre_u_mm = 0.7F,
                              .start_s = 10.1 * v,
                              .duration_s = 10.1,
                              .head = v % 2});
    return made;
  }();
  return set;
}

// Views 1 and 4, their pixels numbered from 0.
ViewBatch two_views() {
  ViewBatch batch{.count = 12, .set = python_plan(), .reference_s = 2};
  std::vector<float> counts(12);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<float>(i);
  batch.counts = Buffer<float>::from(counts);
  batch.records = {{.view = 1, .exposure = 0.75, .counts = 15}, {.view = 4, .counts = 51}};
  batch.quantity = std::make_shared<const Quantity>();
  return batch;
}

constexpr const char* on_views = "takes: views, gives: views";

std::string failure_with_views(const std::string& script) {
  try {
    PythonUnderTest<ViewBatch> python("@gadget\ndef work(views, info):\n" + script, on_views);
    for (int i = 0; i < 2; ++i) python->send(two_views());
    python->finish();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("views come back equal, whether handed on, sliced, gathered or rewritten by NumPy") {
  if (skip_without_numpy()) return;
  for (const char* how : {"views", "views[:]", "views[[0, 1]]", "views[np.ones(2, bool)]", "views.counts.copy()",
                          "views.replace(counts=views.counts + np.float32(0))"}) {
    CAPTURE(how);
    PythonUnderTest<ViewBatch> python(fmt::format("@gadget\ndef work(views):\n  return {}\n", how), on_views);
    for (int i = 0; i < 2; ++i) {  // the plan goes over once
      python->send(two_views());
      const auto back = python->out.all();
      REQUIRE(back.size() == static_cast<std::size_t>(i + 1));
      CHECK(back.back()->set == python_plan());
      CHECK(back.back()->count == 12);
      CHECK(back.back()->reference_s == 2);
      CHECK(back.back()->records[0].view == 1);
      CHECK(back.back()->records[0].exposure == 0.75);
      CHECK(back.back()->records[1].counts == 51);
      CHECK(back.back()->counts.to_vector() == two_views().counts.to_vector());
      CHECK(back.back()->quantity);
    }
    CHECK(python->context.recorded().rejected_total() == 0);
  }
}

TEST_CASE(
    "a gadget sees the views' numbers; views that it drops are rejected; corrections keep the counts in the books") {
  if (skip_without_numpy()) return;
  PythonUnderTest<ViewBatch> python(R"(
@gadget
def work(views, info):
  plan = views.plan
  assert len(plan) == 5 and plan.size == (3, 2) and plan.name == "a camera" and plan.head.tolist() == [0, 1, 0, 1, 0]
  assert views.index.tolist() == [1, 4] and views.counts.shape == (2, 2, 3) and views.counts[1, 1, 2] == 11
  assert views.additive is None and views.exposure.tolist() == [0.75, 1.0] and views.window == 0
  assert abs(views.angle_deg[0] - 72.3) < 1e-5 and plan.windows_keV[1] == (100.0, 120.0)
  info.report("sum", views.counts.sum())
  return views[views.index == 4].replace(additive=np.full((1, 2, 3), 0.5, np.float32), counts=views.counts[1:] * np.float32(2))
)",
                                    on_views);
  python->send(two_views());
  const auto kept = python->out.pointer(0);
  REQUIRE(kept->records.size() == 1);
  CHECK(kept->records[0].view == 4);
  CHECK(kept->records[0].counts == 51);
  CHECK(kept->counts[5] == 22);
  CHECK(kept->additive[0] == 0.5F);
  CHECK(kept->multiplicative.empty());
  CHECK(python->context.recorded().rejected.at("python") == 15);
  CHECK(std::get<double>(python->context.figures().at("sum")) == 66);
}

TEST_CASE("a script makes the views of a plan of its own") {
  if (skip_without_numpy()) return;
  PythonUnderTest<ViewBatch> python(R"(
from tofstream import Plan, Views
@gadget
def turn(info):
  plan = Plan([0, 90, 180], size=(2, 1), pixel_mm=(4, 4), radius_mm=150, duration_s=[1, 2, 3], name="mine")
  for view in range(3):
    yield Views(plan, view, np.full((1, 1, 2), view + 0.25, np.float32), exposure=0.5)
)",
                                    "takes: nothing, gives: views");
  python->run();
  const auto views = python->out.all();
  REQUIRE(views.size() == 3);
  CHECK(views[0]->set == views[2]->set);
  CHECK(views[0]->set->name == "mine");
  CHECK(views[0]->set->places[2].start_s == 3);
  CHECK(views[2]->records[0].counts == 5);  // 4.5, rounded
  CHECK(views[2]->records[0].exposure == 0.5);
  CHECK(views[2]->counts[1] == 2.25F);
}

TEST_CASE("views that cannot go on are told in one line") {
  if (skip_without_numpy()) return;
  struct Wrong {
    const char* script;
    const char* said;
  };
  for (const Wrong& wrong :
       {Wrong{"  return 3\n", "work() returned a int, not views: return counts like views.counts"},
        Wrong{"  return views.counts.astype(np.float64)\n", "returned counts of type float64, not float32"},
        Wrong{"  return views.replace(counts=views.counts[:1].copy())\n",
              "returned counts of shape (1, 2, 3), not (2, 2, 3)"},
        Wrong{"  return views.replace(counts=-views.counts)\n", "gave a negative number in counts"},
        Wrong{"  return views.counts / np.float32(0)\n", "in counts[0]: only finite numbers go on"},
        Wrong{"  return views.replace(exposure=[0, 1])\n", "gave view 1 an exposure of 0"},
        Wrong{"  views.index[0] = 5\n  return views[:]\n", "gave view 5, but the plan has 5 (from 0)"},
        Wrong{"  views.window = 2\n  return views[:]\n", "gave views of energy window 2, but the plan has 2 (from 0)"},
        Wrong{"  views.plan = __import__('tofstream').Plan([0, 0], size=(3, 2), pixel_mm=(4, 4), radius_mm=150)\n"
              "  views.index[:] = [0, 1]\n  return views[:]\n",
              "gave a plan of views that cannot be: views 0 and 1 have one place"}}) {
    const std::string said = failure_with_views(wrong.script);
    CHECK_MESSAGE(said.find(wrong.said) != std::string::npos, said);
  }
  CHECK_THROWS_WITH_AS(
      PythonUnderTest<ViewBatch>("@gadget\ndef work(views):\n  return views\n", "takes: events, gives: views"),
      doctest::Contains("views are made of views or of nothing"), std::exception);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
