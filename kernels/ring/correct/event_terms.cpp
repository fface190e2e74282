// Terms of events from tables and a mu map: see event_terms.hpp.
#include "kernels/ring/correct/event_terms.hpp"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "kernels/ring/correct/term_lookup.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

namespace {

void require_terms(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void require_positive(double value) {
  if (!(value > 0 && std::isfinite(value)))
    throw std::invalid_argument(fmt::format("corrections need a positive exposure and reference time, not {}", value));
}

bool has_terms_of_bins(const EventBatch& batch, const EventTerms& terms) {
  return terms.tof && !batch.tof_mm.empty() && batch.tof.sigma_mm > 0;
}

void check_additive(const EventBatch& batch, const EventTerms& terms) {
  require_terms(batch.count == 0 || !batch.multiplicative.empty(), "additive terms come after multiplicative ones");
  require_positive(terms.reference_s);
  const bool of_bins = has_terms_of_bins(batch, terms);
  if (terms.randoms) {
    require_terms(batch.detectors != nullptr, "randoms need events that name their detectors");
    require_terms(batch.detectors->size() == static_cast<std::int64_t>(terms.randoms->factor.size()),
                  "the randoms are of another scanner's detectors");
    require_terms(!of_bins || batch.tof.window_mm > 0,
                  "randoms need the width of the coincidence window, which the events do not state");
  }
  if (batch.live && batch.scanner && batch.live->modules != batch.scanner->modules())
    throw std::invalid_argument("the events' live fractions are of another scanner's modules");
  if (terms.scatter && terms.scatter->has_tof() != of_bins)
    throw std::invalid_argument(of_bins ? "the events have ToF, the scatter estimate has not"
                                        : "the scatter estimate is of ToF bins, the events' terms are not");
}

// Moved events have a table of moved detectors, whose numbers are the scanner's.
EventView as_recorded(const EventBatch& batch) {
  EventView events = batch.view();
  if (!batch.pose) return events;
  require_terms(batch.detectors && batch.scanner && batch.scanner->detectors &&
                    batch.scanner->detectors->size() == batch.detectors->size(),
                "what stays with the scanner attenuates moved events only where these name its detectors");
  events.detectors = batch.scanner->detectors->on(batch.memory());
  return events;
}

/// Values of a model that is given by pointer, in the memory where events are corrected.
template <class Model>
class Placed {
 public:
  /// The values of the model, brought there where it is another than the last.
  const float* of(const std::shared_ptr<const Model>& model, const std::vector<float>& values, Memory memory,
                  Stream stream) {
    if (model == model_) return values_.data();
    const Buffer<float> here = Buffer<float>::from(values);
    values_ = here.to(memory, stream);
    synchronize(stream);  // before the host's values go
    model_ = model;
    return values_.data();
  }

 private:
  std::shared_ptr<const Model> model_;
  Buffer<float> values_;
};

}  // namespace

struct EventCorrector::Tables {
  Backend backend;
  Memory memory = memory_of(backend);
  Stream stream = backend == Backend::cuda ? copy_stream() : nullptr;
  std::shared_ptr<const Scanner> scanner;
  std::optional<detail::PairList> pairs;  // of the scanner
  Placed<RandomsModel> randoms;
  Placed<LivePattern> live;
  Placed<ScatterEstimate> scatter;

  detail::TermLookup lookup(const EventBatch& there, const EventTerms& terms) {
    detail::TermLookup result{.events = there.view(), .exposure = there.exposure, .reference_s = terms.reference_s};
    result.of_bins = has_terms_of_bins(there, terms);
    result.window_mm = static_cast<double>(there.tof.window_mm);
    if (!there.scanner || !there.detectors) return result;
    if (there.scanner != scanner) {
      pairs.reset();
      scanner = there.scanner;
      pairs.emplace(*scanner, memory, stream);
      synchronize(stream);
    }
    result.has_scanner = true;
    result.pairs = pairs->view();
    if (there.live) result.live = live.of(there.live, there.live->factor, memory, stream);
    return result;
  }

  /// to[i] = what the batch in this memory has and what the terms add; queued on the stream.
  void look_up(const EventBatch& there, const EventTerms& terms, float* to) {
    detail::TermLookup found = lookup(there, terms);
    if (terms.randoms) found.randoms = randoms.of(terms.randoms, terms.randoms->factor, memory, stream);
    found.randoms_scale = terms.randoms_scale;
    found.randoms_lost = terms.randoms && terms.randoms->before_losses;
    found.has_scatter = terms.scatter != nullptr;
    if (terms.scatter)
      found.scatter = scatter_view(*terms.scatter, scatter.of(terms.scatter, terms.scatter->values, memory, stream));
    detail::look_up_additive(found, to, memory, stream);
  }

  /// Calls set(batch in this memory), which fills its array; where the batch lies elsewhere the array comes back.
  template <class Set>
  void with_batch(EventBatch& batch, Buffer<float> EventBatch::*array, const Set& set) {
    const Memory home = batch.memory();
    if (home == memory || (on_host(home) && on_host(memory))) {
      set(batch);
    } else {
      EventBatch there = batch.to(memory, stream);
      set(there);
      batch.*array = (there.*array).to(home, stream);
      synchronize(stream);  // before the copy of the events goes
    }
    synchronize(stream);
  }
};

EventCorrector::EventCorrector(Backend backend) {
  if (backend == Backend::cuda) require_cuda();
  tables_ = std::make_unique<Tables>(Tables{.backend = backend});
}

EventCorrector::~EventCorrector() = default;
EventCorrector::EventCorrector(EventCorrector&&) noexcept = default;

Backend EventCorrector::backend() const {
  return tables_->backend;
}

void EventCorrector::set_multiplicative(EventBatch& batch, const EventTerms& terms) {
  require_terms(batch.multiplicative.empty() && batch.additive.empty(), "the events carry correction terms already");
  require_positive(terms.exposure);
  for (const Attenuation* attenuation : {terms.attenuation, terms.hardware})
    require_terms(!attenuation || attenuation->backend() == backend(),
                  "events are corrected where lines are followed through the mu map");
  batch.exposure = terms.exposure;
  Tables& tables = *tables_;
  tables.with_batch(batch, &EventBatch::multiplicative, [&](EventBatch& there) {
    const detail::TermLookup lookup = tables.lookup(there, terms);
    Buffer<float> multiplicative(there.memory(), there.count, tables.stream);
    detail::fill_ones(multiplicative.data(), there.count, tables.memory, tables.stream);
    if (terms.attenuation) terms.attenuation->apply(lookup.events, multiplicative.data(), tables.stream);
    if (terms.hardware) terms.hardware->apply(as_recorded(there), multiplicative.data(), tables.stream);
    detail::look_up_multiplicative(lookup, multiplicative.data(), tables.memory, tables.stream);
    there.multiplicative = std::move(multiplicative);
  });
}

void EventCorrector::set_additive(EventBatch& batch, const EventTerms& terms) {
  require_terms(batch.additive.empty(), "the events carry correction terms already");
  check_additive(batch, terms);
  if (!terms.randoms && !terms.scatter && !terms.skip_unrecorded) return;
  Tables& tables = *tables_;
  tables.with_batch(batch, &EventBatch::additive, [&](EventBatch& there) {
    Buffer<float> additive(there.memory(), there.count, tables.stream);
    tables.look_up(there, terms, additive.data());
    there.additive = std::move(additive);
  });
}

void EventCorrector::sum_additive(const EventBatch& batch, const EventTerms& terms, float* to) {
  check_additive(batch, terms);
  require_terms(on_host(batch.memory()) == on_host(tables_->memory), "terms are added where the events lie");
  tables_->look_up(batch, terms, to);
  synchronize(tables_->stream);
}

void set_terms(EventBatch& batch, const EventTerms& terms, Backend backend) {
  EventCorrector corrector(backend);
  corrector.set_multiplicative(batch, terms);
  corrector.set_additive(batch, terms);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
