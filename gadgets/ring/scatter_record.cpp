// What single_scatter knows after each update: see scatter_record.hpp.
#include "gadgets/ring/scatter_record.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tofstream {

namespace {

// As they lie in the file.
struct NotedHead {
  std::uint64_t seen = 0, stride = 1, looked_at = 0;
  double exposed_s = 0;
  std::uint64_t has_tof = 0;
};
struct MadeHead {
  std::int32_t iteration = 0, size[5] = {};
  double reference_s = 1;
  float radial_mm = 1, axial_mm = 1, tof_mm = 1, unused = 0;
};
struct RenewalHead {
  double due_s = 0, place_s = 0;
  std::int64_t of_update = 0;
  double reference_s = 1;
  std::int32_t size[3] = {};  // of the image; 0: none
  float voxel_mm[3] = {}, origin_mm[3] = {};
  std::uint32_t has_place = 0;
};
static_assert(sizeof(RenewalHead) == 72);
static_assert(sizeof(NotedHead) == 40 && sizeof(MadeHead) == 48 && sizeof(ScatterTails::TailEvent) == 40);

bool take_noted(const TermsRecord::Entry& entry, RecordedScatter& known) {
  const auto head = entry.head<NotedHead>();
  const auto events = head ? entry.values<ScatterTails::TailEvent>(sizeof(NotedHead)) : std::nullopt;
  if (!events || head->stride == 0) return false;
  ScatterTails::Noted& tails = known.tails;
  tails.seen = head->seen;
  tails.looked_at = head->looked_at;
  tails.exposed_s = head->exposed_s;
  tails.has_tof = head->has_tof != 0;
  if (std::exchange(tails.stride, head->stride) != head->stride)
    std::erase_if(tails.events, [&](const auto& event) { return event.number % head->stride != 0; });
  tails.events.insert(tails.events.end(), events->begin(), events->end());
  return known.has_tails = true;
}

bool take_made(const TermsRecord::Entry& entry, RecordedScatter& known) {
  const auto head = entry.head<MadeHead>();
  auto values = head ? entry.values<float>(sizeof(MadeHead)) : std::nullopt;
  if (!values) return false;
  known.estimate = std::make_shared<ScatterEstimate>();
  std::copy_n(head->size, 5, known.estimate->size.begin());
  known.estimate->radial_mm = head->radial_mm;
  known.estimate->axial_mm = head->axial_mm;
  known.estimate->tof_mm = head->tof_mm;
  known.estimate->values = std::move(*values);
  known.iteration = head->iteration;
  known.from_update = entry.update;
  known.reference_s = head->reference_s;
  return true;
}

std::shared_ptr<const Image> image_of(const RenewalHead& head, const std::vector<float>& voxels) {
  const Grid grid{{head.size[0], head.size[1], head.size[2]},
                  {head.voxel_mm[0], head.voxel_mm[1], head.voxel_mm[2]},
                  {head.origin_mm[0], head.origin_mm[1], head.origin_mm[2]}};
  validate(grid);
  if (grid.voxels() != static_cast<std::int64_t>(voxels.size())) return nullptr;
  auto image = std::make_shared<Image>(Image::zeros(grid));
  std::ranges::copy(voxels, image->voxels.span().begin());
  return image;
}

bool take_renewal(const TermsRecord::Entry& entry, RecordedScatter& known) {
  const auto head = entry.head<RenewalHead>();
  const auto voxels = head ? entry.values<float>(sizeof(RenewalHead)) : std::nullopt;
  if (!voxels) return false;
  RecordedRenewal& renewal = known.renewal.emplace();
  renewal.times.due_s = head->due_s;
  if (head->has_place != 0) renewal.times.place_s = head->place_s;
  renewal.of_update = head->of_update;
  renewal.reference_s = head->reference_s;
  if (voxels->empty()) return true;
  renewal.image = image_of(*head, *voxels);
  renewal.tails = known.tails;
  return renewal.image != nullptr;
}

bool take_shortened(const TermsRecord::Entry& entry, RecordedScatter& known) {
  const auto to_update = entry.head<std::int64_t>();
  known.shortened_to = to_update.value_or(0);
  return to_update.has_value();
}

// The scatter of a live run does not hold in the passes over all data that follow the scan.
void begin_anew(RecordedScatter& known) {
  known.estimate = nullptr;
  known.iteration = 0;
  known.renewal.reset();
}

}  // namespace

RecordedScatter read_scatter_record(const std::filesystem::path& file, std::int64_t update) try {
  RecordedScatter known;
  std::optional<std::int64_t> noted_to;  // in a live stream
  for (const TermsRecord::Entry& entry : TermsRecord::read(file, update)) {
    bool is_whole = true;
    if (entry.kind == TermsEntry::noted) is_whole = take_noted(entry, known);
    if (entry.kind == TermsEntry::made) is_whole = take_made(entry, known);
    if (entry.kind == TermsEntry::renewal) is_whole = take_renewal(entry, known);
    if (entry.kind == TermsEntry::shortened) is_whole = take_shortened(entry, known);
    if (entry.kind == TermsEntry::begun_anew) begin_anew(known), noted_to.reset();
    if (entry.kind == TermsEntry::all_noted) noted_to = entry.update;
    if (!is_whole) TermsRecord::refuse(file);
  }
  known.is_behind = noted_to && *noted_to < update;
  if (known.estimate) validate(*known.estimate);
  return known;
} catch (const std::invalid_argument&) {  // an estimate or an image that cannot be
  TermsRecord::refuse(file);
}

void record_tails(TermsRecord& record, std::int64_t update, const ScatterTails::Noted& tails,
                  std::uint64_t seen_before) {
  const NotedHead head{tails.seen, tails.stride, tails.looked_at, tails.exposed_s, tails.has_tof};
  const auto first = std::ranges::lower_bound(tails.events, seen_before, {}, &ScatterTails::TailEvent::number);
  record.append(TermsEntry::noted, update, bytes_of(head), std::as_bytes(std::span(first, tails.events.end())));
}

void record_scatter(TermsRecord& record, std::int64_t update, const ScatterEstimate& estimate, int iteration,
                    double reference_s) {
  MadeHead head{.iteration = iteration,
                .reference_s = reference_s,
                .radial_mm = estimate.radial_mm,
                .axial_mm = estimate.axial_mm,
                .tof_mm = estimate.tof_mm};
  std::ranges::copy(estimate.size, head.size);
  record.append(TermsEntry::made, update, bytes_of(head), std::as_bytes(std::span(estimate.values)));
}

void record_renewal(TermsRecord& record, std::int64_t update, const RecordedRenewal& renewal) {
  RenewalHead head{.due_s = renewal.times.due_s,
                   .place_s = renewal.times.place_s.value_or(0),
                   .of_update = renewal.of_update,
                   .reference_s = renewal.reference_s,
                   .has_place = renewal.times.place_s ? 1U : 0U};
  std::span<const float> voxels;
  if (renewal.image) {
    const Grid& grid = renewal.image->grid;
    for (int axis = 0; axis < 3; ++axis) {
      head.size[axis] = grid.size[axis];
      head.voxel_mm[axis] = grid.voxel_mm[axis];
      head.origin_mm[axis] = grid.origin_mm[axis];
    }
    voxels = renewal.image->voxels.span();
  }
  record.append(TermsEntry::renewal, update, bytes_of(head), std::as_bytes(voxels));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
