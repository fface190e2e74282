// Events and images pass through a Python gadget: values, memory, books, every form that a gadget may have.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/gadgets/python_support.hpp"

using namespace tofstream;

namespace {

template <class T>
bool equal(const Buffer<T>& a, const Buffer<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// The name in /proc/self/maps of the mapping in which a pointer lies.
std::string mapping_of(const void* pointer) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    const auto at = reinterpret_cast<unsigned long>(pointer);
    if (begin <= at && at < end && line.find('/') != std::string::npos) return line.substr(line.find('/'));
  }
  return {};
}

}  // namespace

TEST_CASE("a batch comes back equal, whether handed on, sliced, gathered or rewritten by NumPy") {
  if (skip_without_numpy()) return;
  EventBatch batch = ten_detector_batch(1000);
  std::vector<std::uint32_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 3u);
  batch.bin = Buffer<std::uint32_t>::from(numbers);
  std::ranges::reverse(numbers);
  batch.arrival = Buffer<std::uint32_t>::from(numbers);
  batch.counts = Buffer<float>::from(std::vector<float>(1000, 2.5f));
  for (const char* how : {"events", "events[:]", "events[np.arange(len(events))]", "events[np.ones(len(events), bool)]",
                          "events.replace(tof_mm=events.tof_mm.copy(), detector1=events.detector1 + np.uint32(0))"}) {
    CAPTURE(how);
    PythonUnderTest<> python(fmt::format("@gadget\ndef gate(events):\n  return {}\n", how));
    python->send(EventBatch(batch));
    const auto back = python->out.all();
    REQUIRE(back.size() == 1);
    CHECK(back[0]->count == 1000);
    CHECK(equal(back[0]->detector1, batch.detector1));
    CHECK(equal(back[0]->detector2, batch.detector2));
    CHECK(equal(back[0]->tof_mm, batch.tof_mm));
    CHECK(equal(back[0]->counts, batch.counts));
    CHECK(equal(back[0]->bin, batch.bin));
    CHECK(equal(back[0]->arrival, batch.arrival));
    CHECK(back[0]->multiplicative.empty());
    CHECK(back[0]->detectors == batch.detectors);
    CHECK(back[0]->tof == batch.tof);
    CHECK(back[0]->start_s == 2);
    CHECK(back[0]->duration_s == 0.5);
    CHECK(back[0]->exposure == 0.25);
    CHECK(python->context.recorded().rejected_total() == 0);
  }
}

TEST_CASE("a gate sees the batch's numbers, and what it drops is booked by reason") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> python(R"(
@gadget
def gate(events, info):
  assert events.tof_sigma_mm == 30 and events.start_s == info.start_s == 2 and info.sequence == 7
  assert events.detector_positions.shape == (10, 3) and events.detector_positions[3, 0] == 3
  assert events.x1 is None and not events.tof_mm.flags.writeable and not events.tof_mm.flags.owndata
  info.reject(np.count_nonzero(events.tof_mm < -400), "far out")
  info.report("largest_mm", events.tof_mm.max())
  return events[np.abs(events.tof_mm) < 100]
)");
  MessageInfo info;
  info.sequence = 7;
  python->context.set_message(info);
  python->send(ten_detector_batch(1000));
  const auto kept = python->out.pointer(0);
  REQUIRE(kept->count == 199);
  CHECK(kept->tof_mm[0] == -99);
  CHECK(kept->detector1[0] == 1);
  CHECK(kept->view().count == 199);  // arrays agree
  CHECK(python->context.recorded().rejected.at("far out") == 100);
  CHECK(python->context.recorded().rejected.at("python") == 701);
  CHECK(std::get<double>(python->context.figures().at("largest_mm")) == 499);
}

TEST_CASE("arrays are not copied: both sides see the same pages") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> first(R"(
@gadget
def gate(events):
  doubled = empty_like(events.tof_mm)
  np.multiply(events.tof_mm, 2, out=doubled)
  return events.replace(tof_mm=doubled)
)");
  const std::string inode = R"(
def inode(array):
  at = array.__array_interface__["data"][0]
  for line in open("/proc/self/maps"):
    begin, end = (int(x, 16) for x in line.split()[0].split("-"))
    if begin <= at < end:
      return int(line.split()[4]), (at - begin) + int(line.split()[2], 16)
@gadget
def look(events, info):
  info.report("inode", inode(events.tof_mm)[0])
  info.report("offset", inode(events.tof_mm)[1])
  return events
)";
  PythonUnderTest<> second(inode);
  first->send(ten_detector_batch(100000));
  const auto batch = first->out.pointer(0);
  CHECK(batch->tof_mm[3] == -99994);
  CHECK(mapping_of(batch->tof_mm.data()).starts_with("/memfd:tofstream"));
  CHECK(mapping_of(batch->detector1.data()).starts_with("/memfd:tofstream"));
  second->send(batch);
  CHECK(second->out.pointer(0) == batch);  // passed on, the same object
  const std::uintptr_t page = 4096;
  CHECK(std::get<std::int64_t>(second->context.figures().at("offset")) % static_cast<std::int64_t>(page) ==
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(batch->tof_mm.data()) % page));
  std::ifstream maps("/proc/self/maps");
  std::string here;
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:tofstream") != std::string::npos) here = line;
  CHECK(here.find(fmt::format(" {} ", std::get<std::int64_t>(second->context.figures().at("inode")))) !=
        std::string::npos);
}

TEST_CASE("memory is used again, and a view that Python keeps stays what it was") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> python(R"(
@gadget
class Keep:
  def __init__(self): self.seen, self.places = None, set()
  def process(self, events, info):
    if self.seen is None: self.seen = events.tof_mm
    self.places.add(events.tof_mm.__array_interface__["data"][0])
    info.report("places", len(self.places))
    assert self.seen[0] == 1
    return events.replace(**{name: array.copy() for name, array in events.arrays().items()})
)");
  for (int i = 0; i < 20; ++i) {
    EventBatch batch = ten_detector_batch(5000);
    batch.tof_mm[0] = static_cast<float>(1 + i);
    python->send(std::move(batch));
  }
  CHECK(std::get<std::int64_t>(python->context.figures().at("places")) == 2);  // the kept one, and one for the rest
  const auto back = python->out.all();
  for (int i = 0; i < 20; ++i) CHECK(back[static_cast<std::size_t>(i)]->tof_mm[0] == static_cast<float>(1 + i));
}

TEST_CASE("a partition survives what leaves every event at its place, and nothing else") {
  if (skip_without_numpy()) return;
  EventBatch batch = ten_detector_batch(30);
  batch.axis_begin[1] = 10, batch.axis_begin[2] = 20, batch.axis_begin[3] = 30;
  PythonUnderTest<> keeps("@gadget\ndef f(events):\n  return events.replace(multiplicative=np.ones(30, np.float32))\n");
  keeps->send(EventBatch(batch));
  CHECK(keeps->out.pointer(0)->axis_begin[2] == 20);
  CHECK(keeps->out.pointer(0)->multiplicative[29] == 1);
  PythonUnderTest<> moves("@gadget\ndef f(events):\n  return events[::-1]\n");
  moves->send(EventBatch(batch));
  CHECK(moves->out.pointer(0)->axis_begin[3] == 0);
  CHECK(moves->out.pointer(0)->tof_mm[0] == 14);
}

TEST_CASE("a gadget may give several messages, or none, and more at the end; its books balance then") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> python(R"(
@gadget
class Delay:
  def __init__(self, keep, *, unused=None): self.keep, self.held = keep, []
  def process(self, events):
    self.held.append(events)
    if len(self.held) > self.keep:
      for part in (slice(0, 5), slice(5, None)): yield self.held[0][part]
      del self.held[0]
  def flush(self): return [held[:15] for held in self.held]
)",
                           "arguments: [1]");
  for (int i = 0; i < 3; ++i) python->send(ten_detector_batch(20));
  python->finish();
  std::vector<std::int64_t> counts;
  for (const auto& batch : python->out.all()) counts.push_back(batch->count);
  CHECK(counts == std::vector<std::int64_t>{5, 15, 5, 15, 15, 0});  // the last one says that five are missing
  CHECK(python->out.pointer(4)->quantity == nullptr);
  CHECK(python->out.pointer(5)->quantity->rejecting == std::vector<std::string>{"python"});
  CHECK(python->context.recorded().rejected.at("python") == 5);
}

TEST_CASE("events that Python leaves out are missing for the sensitivity: those that go on say so from then on") {
  if (skip_without_numpy()) return;
  const auto rejecting = [](const std::shared_ptr<const EventBatch>& batch) {
    return batch->quantity ? batch->quantity->rejecting.size() : 0;
  };
  const auto send = [](PythonUnderTest<>& python, float first_tof) {
    EventBatch batch = ten_detector_batch(20);
    batch.tof_mm[0] = first_tof;
    batch.quantity = std::make_shared<const Quantity>(Quantity{.unit = "Bq/mL"});
    python->send(std::move(batch));
  };
  PythonUnderTest<> gate("@gadget\ndef gate(events):\n  return events[events.tof_mm > -50]\n");
  send(gate, 0);
  send(gate, -100);  // one event is left out
  send(gate, 0);
  REQUIRE(gate->out.all().size() == 3);
  CHECK(rejecting(gate->out.pointer(0)) == 0);
  CHECK(rejecting(gate->out.pointer(1)) == 1);
  CHECK(rejecting(gate->out.pointer(2)) == 1);
  CHECK(gate->out.pointer(2)->quantity->unit == "Bq/mL");

  PythonUnderTest<> none("@gadget\ndef gate(events, info):\n  info.reject(len(events), 'all')\n");
  send(none, 0);
  REQUIRE(none->out.all().size() == 1);  // without events, only for its quantity
  CHECK(none->out.pointer(0)->count == 0);
  CHECK(rejecting(none->out.pointer(0)) == 1);

  PythonUnderTest<> passes("@gadget\ndef gate(events):\n  return events\n");
  send(passes, 0);
  CHECK(rejecting(passes->out.pointer(0)) == 0);
}

TEST_CASE("info is given where there is room for it, arguments by name or by place") {
  if (skip_without_numpy()) return;
  const auto kept = [](const std::string& parameters, const std::string& more) {
    PythonUnderTest<> python("@gadget\ndef gate(" + parameters + "):\n  return events[:n]\n", more);
    python->send(ten_detector_batch(20));
    return python->out.pointer(0)->count;
  };
  CHECK(kept("events, n=3", "") == 3);
  CHECK(kept("events, n=3", "arguments: {n: 5}") == 5);
  CHECK(kept("events, n", "arguments: [6]") == 6);
  CHECK(kept("events, info, n=7", "") == 7);
  CHECK(kept("events, info, n", "arguments: 8") == 8);
  CHECK(kept("events, info, *, n", "arguments: {n: 9}") == 9);
}

TEST_CASE("an image comes back equal or filtered, after the same update") {
  if (skip_without_numpy()) return;
  PythonUnderTest<Estimate> python(R"(
@gadget
def smooth(image, info):
  assert image.voxels.shape == (2, 3, 4) and image.voxel_mm == (1, 2, 3) and image.step.iteration == 2
  assert image.voxels[1, 2, 3] == 23 and image.origin_mm == (-1.5, -2, -1.5)
  return [image, image.voxels * 2, Image(image.voxels[:, :, ::2], (2, 2, 3))]
)",
                                   "takes: image, gives: image");
  Estimate given = ramp_image();
  given.filters = {{{5, 5, 5}}};
  given.modality = Modality::spect;
  python->send(given);
  const auto back = python->out.all();
  REQUIRE(back.size() == 3);
  for (const auto& estimate : back) {
    CHECK(estimate->filters == given.filters);
    CHECK(estimate->modality == given.modality);
  }
  CHECK(equal(back[0]->image->voxels, given.image->voxels));
  CHECK(back[1]->image->voxels[23] == 46);
  CHECK(back[1]->image->grid == given.image->grid);
  CHECK(back[1]->step.iteration == 2);
  CHECK(back[1]->step.subset == 1);
  CHECK(back[2]->image->grid == Grid::centred(2, 3, 2, {2, 2, 3}));
  CHECK(back[2]->image->voxels[1] == 2);
}

TEST_CASE("a source ends when it likes or when told, a sink takes all, and events become images") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> source(R"(
@gadget
def lines(n):
  for i in range(n):
    yield Events(**{name: np.full(3, i, np.float32) for name in ("x1", "y1", "z1", "x2", "y2", "z2")}, duration_s=i)
)",
                           "takes: nothing, arguments: {n: 4}");
  source->run();
  const auto batches = source->out.all();
  REQUIRE(batches.size() == 4);
  CHECK(batches[3]->view().lor(2).end2.z == 3);
  CHECK(batches[3]->duration_s == 3);
  PythonUnderTest<void> sink("@gadget\ndef count(events, info):\n  info.report('n', len(events))\n", "gives: nothing");
  sink->send(ten_detector_batch(12));
  CHECK(std::get<std::int64_t>(sink->context.figures().at("n")) == 12);
  CHECK(sink->context.recorded().written == 12);
  PythonUnderTest<Estimate> histogram(R"(
@gadget
class Histogram:
  def __init__(self): self.counts = np.zeros((1, 1, 10), np.float32)
  def process(self, events): self.counts[0, 0] += np.bincount(events.detector1, minlength=10)
  def flush(self): return Image(self.counts, (1, 1, 1))
)",
                                      "gives: image");
  histogram->send(ten_detector_batch(25));
  histogram->finish();
  CHECK(histogram->out.pointer(0)->image->voxels[4] == 3);
  CHECK(histogram->context.recorded().reconstructed == 25);
}

TEST_CASE("an empty batch goes through") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> python("@gadget\ndef gate(events):\n  return events[events.tof_mm > 0]\n");
  python->send(ten_detector_batch(0));
  CHECK(python->out.pointer(0)->count == 0);
}
// SPDX-License-Identifier: Apache-2.0
