// Files of a probe's events: float32 triples x, y, z in mm, one event after the other.
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "probe.hpp"

namespace probe {
namespace {

using Triple = std::array<float, 3>;

struct Writer {
  struct Params {
    std::filesystem::path file = "events.probe";
  };
  static constexpr auto params = describe(param<&Params::file>("file", in_run_folder, "Name in the output folder"));

  Writer(const Params& p, Context& context) : file_(context.output_file(p.file), std::ios::binary) {}

  void process(const EventBatch& batch, Context& context) {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const Vec3 place = place_of(batch, i);
      const Triple triple{place.x, place.y, place.z};
      file_.write(reinterpret_cast<const char*>(triple.data()), sizeof triple);
    }
    context.books().written(batch.event_count());
  }
  void flush() { file_.close(); }

 private:
  std::ofstream file_;
};
TOFSTREAM_GADGET(Writer, "probe_writer", "Writes a probe's events to a file");

struct Decoder {
  void process(const ByteBlock& block, Emit<EventBatch>& emit, Context& context) {
    bytes_.insert(bytes_.end(), block.data.begin(), block.data.end());
    const std::size_t events = bytes_.size() / sizeof(Triple);
    if (events == 0) return;
    EventBatch batch = make_batch(scanner_, static_cast<std::int64_t>(events));
    for (std::size_t i = 0; i < events; ++i) {
      Triple triple;
      std::memcpy(&triple, bytes_.data() + i * sizeof triple, sizeof triple);
      set_place(batch, static_cast<std::int64_t>(i), {triple[0], triple[1], triple[2]});
    }
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(events * sizeof(Triple)));
    context.books().received(events);
    emit(std::move(batch));
  }

 private:
  std::vector<std::byte> bytes_;  // of an incomplete event
  const std::shared_ptr<const Scanner> scanner_ = make_scanner("probe");
};
TOFSTREAM_GADGET(Decoder, "probe_decoder", "Reads a probe's events from a file");

}  // namespace
}  // namespace probe
// SPDX-License-Identifier: Apache-2.0
