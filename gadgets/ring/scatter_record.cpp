// What single_scatter knows after each update: see scatter_record.hpp.
#include "gadgets/ring/scatter_record.hpp"

#include <algorithm>
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
  known.reference_s = head->reference_s;
  return true;
}

}  // namespace

RecordedScatter read_scatter_record(const std::filesystem::path& file, std::int64_t update) {
  RecordedScatter known;
  for (const TermsRecord::Entry& entry : TermsRecord::read(file, update)) {
    bool is_whole = true;
    if (entry.kind == TermsEntry::noted) is_whole = take_noted(entry, known);
    if (entry.kind == TermsEntry::made) is_whole = take_made(entry, known);
    if (entry.kind == TermsEntry::begun_anew) known.estimate = nullptr, known.iteration = 0;
    if (!is_whole) TermsRecord::refuse(file);
  }
  if (known.estimate) validate(*known.estimate);
  return known;
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

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
