// A rank at work: see rank_service.hpp.
#include "gadgets/step/rank_service.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/muted_log.hpp"
#include "core/gadget/gadget_record.hpp"
#include "core/run/fault.hpp"
#include "gadgets/io/wire/packed_lines.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/step/remote_rank.hpp"
#include "gadgets/step/view_projector_kinds.hpp"
#include "kernels/project/spread/spread_projector.hpp"

namespace tofstream {

namespace {

/// What differs between events and views.
struct EventsOfRank {
  using Data = EventBatch;
  using Kind = ProjectorKind;
  using Table = DetectorTable;
  static std::shared_ptr<const Scanner> geometry(wire::PackReader& from) { return wire::unpack_scanner(from); }
  static std::shared_ptr<const Table> table(wire::PackReader& from) { return wire::unpack_detectors(from); }
  static std::shared_ptr<const Data> batch(wire::PackReader& from, std::shared_ptr<const Table> table) {
    return wire::unpack_events(from, std::move(table));
  }
  static std::unique_ptr<ListModeProjector> projector(std::unique_ptr<ListModeProjector> made,
                                                      const std::shared_ptr<const Scanner>& scanner) {
    return spread_where_asked(std::move(made), scanner);
  }
  /// What comes with a batch.
  static void take_more(wire::PackReader& from, const Scanner& scanner, std::uint64_t number, const Data& batch) {
    wire::unpack_bin_pairs(from, scanner, number, batch.bin.span());
  }
  static void forget_more(const Scanner& scanner, std::uint64_t number) { wire::forget_bin_pairs(scanner, number); }
};
struct ViewsOfRank {
  using Data = ViewBatch;
  using Kind = ViewProjectorKind;
  using Table = ViewSet;
  static std::shared_ptr<const ViewSet> geometry(wire::PackReader& from) { return wire::unpack_view_set(from); }
  static std::shared_ptr<const Table> table(wire::PackReader& from) { return wire::unpack_view_set(from); }
  static std::shared_ptr<const Data> batch(wire::PackReader& from, std::shared_ptr<const Table> table) {
    if (!table) wire::PackReader::refuse("views without a set");
    return wire::unpack_views(from, std::move(table));
  }
  static std::unique_ptr<ViewProjector> projector(std::unique_ptr<ViewProjector> made,
                                                  const std::shared_ptr<const ViewSet>&) {
    return made;
  }
  static void take_more(wire::PackReader&, const ViewSet&, std::uint64_t, const Data&) {}
  static void forget_more(const ViewSet&, std::uint64_t) {}
};

struct EventViewsOf final : DataViews<EventBatch> {
  explicit EventViewsOf(bool uses_tof) : uses_tof(uses_tof) {}
  bool uses_tof;
  EventView view(const EventBatch& data, Buffer<float>&) const override { return list_mode_view(data, uses_tof); }
};
struct ViewViewsOf final : DataViews<ViewBatch> {
  Views view(const ViewBatch& data, Buffer<float>& room) const override { return float_view(data, room); }
};

std::unique_ptr<DataViews<EventBatch>> data_views(const ProjectorKind& kind, const void* params) {
  return std::make_unique<EventViewsOf>(kind.more.uses_tof(params));
}
std::unique_ptr<DataViews<ViewBatch>> data_views(const ViewProjectorKind&, const void*) {
  return std::make_unique<ViewViewsOf>();
}

/// Terms as they came.
template <class Data>
struct ReceivedTerms final : AdditiveTerms<Data> {
  explicit ReceivedTerms(std::span<const float> values) : values(values.begin(), values.end()) {}
  std::vector<float> values;
  void write(const Data& batch, float* to) const override {
    detail::copy(to, batch.memory(), values.data(), Memory::host, sizeof(float) * values.size(), nullptr);
    if (!on_host(batch.memory())) synchronize(nullptr);
  }
};

template <class Family>
class ServiceOf final : public RankService {
  using Data = typename Family::Data;

 public:
  ServiceOf(const typename Family::Kind& kind, std::shared_ptr<const void> params, const PipelineGadget& gadget,
            const RankOpening& opening, std::function<void()> progressed, wire::PackReader& from)
      : opening_(opening),
        progressed_(std::move(progressed)),
        record_(gadget.name),
        context_(record_),
        geometry_(Family::geometry(from)),
        views_(data_views(kind, params.get())) {
    from.require_end();
    if (gadget.fault.is_of(static_cast<std::uint64_t>(opening.rank))) fault_ = gadget.fault;
    const MutedLog said_by_the_first;
    projector_ =
        Family::projector(kind.make(params.get(), opening.grid, opening.backend, *geometry_, context_), geometry_);
    for (int part = opening.rank; part < opening.parts; part += opening.ranks) {
      shares_.emplace_back(*projector_, *views_, opening.rank, opening.ranks);
      sums_.push_back(nullptr);
    }
    device_ = opening.backend == Backend::cuda ? cuda_device_name() : "cpu";
  }

  void take(const RankMessage& message) override {
    wire::PackReader from(*message.body);
    if (message.kind == RankMessageKind::forget) {
      for (const std::uint64_t number : from.array<std::uint64_t>()) forget(number);
    } else if (message.kind == RankMessageKind::table) {
      const auto number = from.value<std::uint64_t>();
      tables_[number] = Family::table(from);
    } else if (message.kind == RankMessageKind::batch) {
      const auto number = from.value<std::uint64_t>(), table = from.value<std::uint64_t>();
      if (table > 0 && !tables_.contains(table)) wire::PackReader::refuse("a batch without its table");
      batches_[number] = {Family::batch(from, table > 0 ? tables_.at(table) : nullptr), {}};
      Family::take_more(from, *geometry_, number, *batches_[number].data);
    } else if (message.kind == RankMessageKind::terms) {
      Known& known = batch(from.value<std::uint64_t>());
      const auto values = from.array<float>();
      if (static_cast<std::int64_t>(values.size()) != known.data->count)
        wire::PackReader::refuse("terms are not those of their batch");
      known.additive.terms = std::make_shared<const ReceivedTerms<Data>>(values);
    } else {
      wire::PackReader::refuse("it is none for a gadget");
    }
    from.require_end();
  }

  std::vector<wire::PackedPiece> project(const RankMessage& pass) override {
    const auto began = std::chrono::steady_clock::now();
    meet_fault(fault_, passes_++, [] { return true; });
    wire::PackReader from(*pass.body);
    const float* image = images_ ? nullptr : in_memory(from.array<float>());
    if (from.value<std::uint32_t>() != shares_.size()) wire::PackReader::refuse("a pass is not of this rank's parts");
    if (images_) {
      images_->receive_estimate(room_for_estimate(), progressed_);
      image = estimate_.data();
    }
    SubsetTally tally;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      clear_sum(i);
      for (const PassEntry& entry : from.array<PassEntry>()) tally += project_batch(i, entry, image);
    }
    from.require_end();
    return answer(tally, began);
  }

  void join() override {
    if (opening_.images.by != ImagesBy::messages)
      images_.emplace(opening_.images, opening_.rank, opening_.ranks, opening_.parts, opening_.grid.voxels());
  }

  void give_sums() override {
    if (!images_) return;
    const auto began = std::chrono::steady_clock::now();
    std::vector<float*> own;
    for (const auto& sum : sums_) own.push_back(sum->voxels.data());
    images_->add_up(
        own, [] {}, progressed_);
    adding_s_ += detail::seconds_since(began);
  }

  const std::string& device() const override { return device_; }

 private:
  struct Known {
    std::shared_ptr<const Data> data;
    Additive<Data> additive;
  };

  Known& batch(std::uint64_t number) {
    const auto known = batches_.find(number);
    if (known == batches_.end()) wire::PackReader::refuse("a batch that did not come");
    return known->second;
  }

  void forget(std::uint64_t number) {
    const auto known = batches_.find(number);
    if (known == batches_.end()) return;
    for (auto& share : shares_) share.forget(known->second.data);
    batches_.erase(known);
    Family::forget_more(*geometry_, number);
  }

  float* room_for_estimate() {
    if (estimate_.empty()) estimate_ = Buffer<float>(memory_of(opening_.backend), opening_.grid.voxels());
    return estimate_.data();
  }

  const float* in_memory(std::span<const float> estimate) {
    if (static_cast<std::int64_t>(estimate.size()) != opening_.grid.voxels())
      wire::PackReader::refuse("an estimate is not the image's");
    const Memory memory = memory_of(opening_.backend);
    if (on_host(memory)) return estimate.data();
    detail::copy(room_for_estimate(), memory, estimate.data(), Memory::host, estimate.size_bytes(), nullptr);
    synchronize(nullptr);
    return estimate_.data();
  }

  // A sum that is still being sent is left to who sends it.
  void clear_sum(std::size_t share) {
    auto& sum = sums_[share];
    if (sum && sum.use_count() == 1)
      sum->voxels.clear();
    else
      sum = std::make_shared<Image>(Image::zeros(opening_.grid, memory_of(opening_.backend)));
  }

  SubsetTally project_batch(std::size_t share, const PassEntry& entry, const float* image) {
    const Known& known = batch(entry.batch);
    if (entry.has_terms && !known.additive.terms) wire::PackReader::refuse("a pass without its terms");
    const Range whole = whole_of(*known.data);
    constexpr bool comes_again = true;  // until the first rank says otherwise
    const auto result = shares_[share].em_step(
        known.data, whole, comes_again, entry.has_terms ? &known.additive : nullptr, image, sums_[share]->voxels.data(),
        [] {}, context_);
    progressed_();
    SubsetTally tally{.all = result.tally, .of_new = {}};
    if (entry.is_new) tally.of_new = result.tally;
    return tally;
  }

  std::vector<wire::PackedPiece> answer(const SubsetTally& tally, std::chrono::steady_clock::time_point began) {
    ShareFigures figures;
    for (const auto& share : shares_) figures += share.figures();
    wire::PackWriter to;
    to.value(tally);
    to.value(figures);
    to.value(detail::seconds_since(began));
    to.value(adding_s_);
    for (const auto& sum : sums_) {
      if (images_) break;
      std::shared_ptr<const Image> sent = sum;
      if (!on_host(sum->voxels.memory())) {
        sent = std::make_shared<const Image>(sum->to(Memory::pinned));
        synchronize(nullptr);
      }
      to.array(std::span<const float>(sent->voxels.span()), sent);
    }
    return to.take();
  }

  const RankOpening opening_;
  const std::function<void()> progressed_;
  FaultSettings fault_;
  std::uint64_t passes_ = 0;
  double adding_s_ = 0;
  GadgetRecord record_;
  Context context_;
  std::shared_ptr<const typename Family::Kind::Geometry> geometry_;
  std::unique_ptr<DataViews<Data>> views_;
  std::unique_ptr<typename Family::Kind::Projector> projector_;
  std::string device_;
  std::map<std::uint64_t, std::shared_ptr<const typename Family::Table>> tables_;
  std::map<std::uint64_t, Known> batches_;
  Buffer<float> estimate_;  // on a GPU
  std::deque<Share<Data>> shares_;
  std::vector<std::shared_ptr<Image>> sums_;  // of each share
  std::optional<RankImages> images_;          // none: they go in messages
};

std::map<RankMessageKind, RankServiceRegistration::Open>& other_services() {
  static std::map<RankMessageKind, RankServiceRegistration::Open> services;
  return services;
}

bool can_go(ImagesBy by, Backend backend) {
  if (by == ImagesBy::nccl) return backend == Backend::cuda;
  if (by == ImagesBy::mpi) return backend == Backend::cpu;
  return by == ImagesBy::messages;
}

template <class Family>
std::unique_ptr<RankService> service_of(const PipelineGadget& gadget, const std::string& use,
                                        const RankOpening& opening, const std::function<void()>& progressed,
                                        wire::PackReader& from) {
  const auto* kind = table_of<typename Family::Kind>().find(use);
  if (!kind) return nullptr;
  return std::make_unique<ServiceOf<Family>>(*kind, projector_params(kind->params, kind->default_params(), gadget),
                                             gadget, opening, progressed, from);
}

}  // namespace

RankOpening checked(const RankOpening& opening) {
  if (opening.grid.has_blobs())
    validate_basis(opening.grid);
  else
    validate(opening.grid);
  if (opening.ranks < 2 || opening.rank < 1 || opening.rank >= opening.ranks || opening.parts < opening.ranks ||
      opening.parts > 1024 || !can_go(opening.images.by, opening.backend) ||
      (opening.backend != Backend::cpu && opening.backend != Backend::cuda))
    wire::PackReader::refuse("its ranks and parts");
  return opening;
}

std::shared_ptr<void> projector_params(const std::vector<ParamInfo>& infos, std::shared_ptr<void> params,
                                       const PipelineGadget& gadget) {
  Value own = Value::map();
  for (const ParamInfo& info : infos)
    if (const Value* value = gadget.resolved.find(info.name)) own.set(info.name, *value, gadget.where);
  Problems problems;
  read_params(infos, params.get(), {own, gadget.name, problems});
  if (!problems.empty()) throw std::runtime_error(problems.all().front().text());
  return params;
}

const PipelineGadget& gadget_for_ranks(const Pipeline& pipeline, const std::string& name) {
  const auto found = std::ranges::find(pipeline.gadgets, name, &PipelineGadget::name);
  if (found == pipeline.gadgets.end()) throw std::runtime_error(fmt::format("its pipeline has no gadget '{}'", name));
  return *found;
}

RankServiceRegistration::RankServiceRegistration(RankMessageKind opens, Open open) {
  other_services()[opens] = open;
}

bool opens_rank_service(RankMessageKind kind) {
  return kind == RankMessageKind::open || other_services().contains(kind);
}

std::unique_ptr<RankService> open_rank_service(const RankMessage& open, const Pipeline& pipeline,
                                               std::function<void()> progressed) {
  const auto other = other_services().find(open.kind);
  if (other != other_services().end()) return other->second(open, pipeline);
  wire::PackReader from(*open.body);
  const PipelineGadget& gadget = gadget_for_ranks(pipeline, from.text());
  const RankOpening opening = checked(from.value<RankOpening>());
  const std::string use = gadget.info->name;
  if (auto events = service_of<EventsOfRank>(gadget, use, opening, progressed, from)) return events;
  if (auto views = service_of<ViewsOfRank>(gadget, use, opening, progressed, from)) return views;
  throw std::runtime_error(fmt::format("'{}' is no projector that ranks can share", use));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
