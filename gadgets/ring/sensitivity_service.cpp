// The other end of sensitivity_ranks.hpp: what a process that is not the first does for one sensitivity.
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/muted_log.hpp"
#include "core/gadget/gadget_record.hpp"
#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/io/wire/packed_lines.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/step/rank_service.hpp"
#include "gadgets/step/remote_rank.hpp"
#include "kernels/project/spread/spread_projector.hpp"
#include "kernels/ring/sensitivity/sensitivity_rank.hpp"

namespace tofstream {

namespace {

/// What the first rank's pack() wrote.
struct ReceivedWork {
  explicit ReceivedWork(wire::PackReader& from)
      : scanner(wire::unpack_scanner_with_efficiencies(from)),
        settings(from.value<SensitivitySettings>()),
        is_of_lines(from.value<std::uint32_t>() != 0),
        object(map_of(from)),
        hardware(map_of(from)) {
    from.require_end();
  }

  SensitivityWork work() const {
    return {.scanner = *scanner,
            .settings = settings,
            .mu = {object ? &*object : nullptr, hardware ? &*hardware : nullptr},
            .is_of_lines = is_of_lines};
  }

  std::shared_ptr<const Scanner> scanner;
  SensitivitySettings settings;
  bool is_of_lines;
  std::optional<Image> object, hardware;

 private:
  static std::optional<Image> map_of(wire::PackReader& from) {
    if (from.value<std::uint32_t>() == 0) return {};
    return wire::unpack_image(from);
  }
};

class SensitivityService final : public RankService {
 public:
  SensitivityService(const ProjectorKind& kind, const PipelineGadget& gadget, const RankOpening& opening,
                     wire::PackReader& from)
      : received_(from),
        record_(gadget.name),
        context_(record_),
        memory_(memory_of(opening.backend)),
        device_(opening.backend == Backend::cuda ? cuda_device_name() : "cpu") {
    const MutedLog said_by_the_first;
    projector_ = spread_where_asked(kind.make(projector_params(kind.params, kind.default_params(), gadget).get(),
                                              opening.grid, opening.backend, *received_.scanner, context_),
                                    received_.scanner);
    rank_ = make_sensitivity_rank(received_.work(), *projector_);
  }

  void take(const RankMessage&) override { wire::PackReader::refuse("it is none for a sensitivity"); }
  void join() override {}
  void give_sums() override {}
  const std::string& device() const override { return device_; }

  std::vector<wire::PackedPiece> project(const RankMessage& asked) override {
    wire::PackReader from(*asked.body);
    Image sum = Image::zeros(projector_->grid(), memory_);
    std::int64_t lines = 0;
    if (asked.kind == RankMessageKind::pairs) {
      const auto replicate = from.value<std::int64_t>(0, 1 << 30, "no replicate of a sample");
      const auto part = from.value<std::int64_t>(0, std::int64_t{1} << 40, "no part of a sample");
      from.require_end();
      lines = rank_->project_pairs(static_cast<int>(replicate), part, sum.voxels.data());
    } else {
      EventBatch batch = read_lines(from);
      from.require_end();
      lines = rank_->project_lines(std::move(batch), sum.voxels.data());
    }
    wire::PackWriter to;
    to.value(lines);
    if (lines == 0) sum = {};
    const auto sent = std::make_shared<const Image>(on_host(memory_) ? std::move(sum) : sum.to(Memory::host));
    to.array(std::span<const float>(sent->voxels.span()), sent);
    return to.take();
  }

 private:
  EventBatch read_lines(wire::PackReader& from) const {
    const auto ends = from.value<std::uint32_t>(0, 2, "lines between nothing");
    std::shared_ptr<const DetectorTable> table;
    if (ends == 1) table = received_.scanner->detectors;
    if (ends == 2) table = wire::unpack_detectors(from);
    const auto lines = wire::unpack_events(from, std::move(table));
    wire::unpack_bin_pairs(from, *received_.scanner, 0, lines->bin.span());
    return lines->to(Memory::host);
  }

  const ReceivedWork received_;
  GadgetRecord record_;
  Context context_;
  std::unique_ptr<ListModeProjector> projector_;
  std::unique_ptr<SensitivityRank> rank_;
  const Memory memory_;
  const std::string device_;
};

// For the gadget that the message names: makes its projector, and answers batches of pairs and of lines with their
// sums.
std::unique_ptr<RankService> open_sensitivity_service(const RankMessage& open, const Pipeline& pipeline) {
  wire::PackReader from(*open.body);
  const PipelineGadget& gadget = gadget_for_ranks(pipeline, from.text());
  const RankOpening opening = checked(from.value<RankOpening>());
  const auto* kind = table_of<ProjectorKind>().find(gadget.info->name);
  if (!kind) throw std::runtime_error(fmt::format("'{}' is no projector of events", gadget.info->name));
  return std::make_unique<SensitivityService>(*kind, gadget, opening, from);
}

const RankServiceRegistration registration_of_sensitivity(RankMessageKind::sensitivity, open_sensitivity_service);

}  // namespace

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
