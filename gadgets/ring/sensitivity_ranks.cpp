// Sums of a sensitivity by other processes: see sensitivity_ranks.hpp.
#include "gadgets/ring/sensitivity_ranks.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/io/wire/packed_lines.hpp"

namespace tofstream {

namespace {

class ProcessAtSensitivity final : public SensitivityRank {
 public:
  ProcessAtSensitivity(RankGroup& group, int rank, std::uint32_t session, const SensitivityWork& work,
                       std::int64_t voxels, Memory memory, const PassClock& clock)
      : channel_(group, rank, session), scanner_(work.scanner), voxels_(voxels), memory_(memory), clock_(clock) {}
  ~ProcessAtSensitivity() override { channel_.send(RankMessageKind::close, {}); }
  ProcessAtSensitivity(const ProcessAtSensitivity&) = delete;
  ProcessAtSensitivity& operator=(const ProcessAtSensitivity&) = delete;

  void begin(std::vector<wire::PackedPiece> opening) {
    channel_.send(RankMessageKind::sensitivity, std::move(opening));
    channel_.answer(RankMessageKind::ready, wait_for([] { return std::chrono::seconds(60); }));
  }

  std::int64_t project_pairs(int replicate, std::int64_t part, float* sum) override {
    wire::PackWriter to;
    to.value(std::int64_t{replicate});
    to.value(part);
    return answer(RankMessageKind::pairs, to, sum);
  }

  std::int64_t project_lines(EventBatch lines, float* sum) override {
    if (lines.count == 0) return 0;
    wire::PackWriter to;
    const bool has_own = lines.detectors && lines.detectors != scanner_.detectors;
    to.value(std::uint32_t{!lines.detectors ? 0u : has_own ? 2u : 1u});
    if (has_own) wire::pack(to, *lines.detectors);
    const auto sent = std::make_shared<const EventBatch>(std::move(lines));
    wire::pack(to, sent);
    wire::pack_bin_pairs(to, scanner_.lines.get(), sent->bin.span());
    return answer(RankMessageKind::lines, to, sum);
  }

 private:
  RankWait wait_for(std::function<std::chrono::steady_clock::duration()> patience) const {
    return {.patience = std::move(patience), .is_over = [this] { return clock_.is_over(); }};
  }

  std::int64_t answer(RankMessageKind question, wire::PackWriter& to, float* sum) {
    channel_.send(question, to.take());
    const RankMessage answered =
        channel_.answer(RankMessageKind::sums, wait_for([this] { return clock_.patience(1); }));
    wire::PackReader from(*answered.body);
    const auto lines = from.value<std::int64_t>();
    const auto voxels = from.array<float>();
    from.require_end();
    if (lines == 0) return 0;
    if (static_cast<std::int64_t>(voxels.size()) != voxels_) wire::PackReader::refuse("a sum is not the image's");
    detail::copy(sum, memory_, voxels.data(), Memory::host, voxels.size_bytes(), nullptr);
    if (!on_host(memory_)) synchronize(nullptr);
    return lines;
  }

  RankChannel channel_;
  const Scanner& scanner_;
  const std::int64_t voxels_;
  const Memory memory_;  // of a sum here
  const PassClock& clock_;
};

}  // namespace

ProcessesAtSensitivity::ProcessesAtSensitivity(RankGroup& group, const Grid& grid, Backend backend, Context& context)
    : group_(group),
      grid_(grid),
      backend_(backend),
      gadget_(context.name()),
      session_(group.new_session(gadget_)),
      clock_(context.cancel_token()) {}

std::unique_ptr<SensitivityRank> ProcessesAtSensitivity::open(int rank, const SensitivityWork& work) {
  wire::PackWriter to;
  to.text(gadget_);
  to.value(
      RankOpening{.grid = grid_, .backend = backend_, .ranks = group_.ranks(), .rank = rank, .parts = group_.ranks()});
  pack(to, work);
  auto process =
      std::make_unique<ProcessAtSensitivity>(group_, rank, session_, work, grid_.voxels(), memory_of(backend_), clock_);
  process->begin(to.take());
  return process;
}

// A sum counts as one datum.
void ProcessesAtSensitivity::first_took(std::chrono::steady_clock::duration time) {
  clock_.note(1, std::chrono::duration<double>(time).count());
}

void pack(wire::PackWriter& to, const SensitivityWork& work) {
  wire::pack_with_efficiencies(to, work.scanner);
  to.value(work.settings);
  to.value(std::uint32_t{work.is_of_lines});
  for (const Image* map : {work.mu.object, work.mu.hardware}) {
    to.value(std::uint32_t{map != nullptr});
    if (map) wire::pack(to, *map);
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
