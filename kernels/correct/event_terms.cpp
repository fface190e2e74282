// Terms of events from tables and a mu map: see event_terms.hpp.
#include "kernels/correct/event_terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/types/scanner.hpp"

namespace tofstream {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

bool has_terms_of_bins(const EventBatch& batch, const EventTerms& terms) {
  return terms.tof && !batch.tof_mm.empty() && batch.tof.sigma_mm > 0;
}

void check(const EventBatch& batch, const EventTerms& terms) {
  require(batch.multiplicative.empty() && batch.additive.empty(), "the events carry correction terms already");
  for (const double positive : {terms.exposure, terms.reference_s})
    if (!(positive > 0 && std::isfinite(positive)))
      throw std::invalid_argument(
          fmt::format("corrections need a positive exposure and reference time, not {}", positive));
  const bool of_bins = has_terms_of_bins(batch, terms);
  if (terms.randoms) {
    require(batch.detectors != nullptr, "randoms need events that name their detectors");
    require(batch.detectors->size() == static_cast<std::int64_t>(terms.randoms->factor.size()),
            "the randoms are of another scanner's detectors");
    require(!of_bins || batch.tof.window_mm > 0,
            "randoms need the width of the coincidence window, which the events do not state");
  }
  if (terms.scatter && terms.scatter->has_tof() != of_bins)
    throw std::invalid_argument(of_bins ? "the events have ToF, the scatter estimate has not"
                                        : "the scatter estimate is of ToF bins, the events' terms are not");
}

/// exp(-integral of mu) of each event, on the host; empty without attenuation.
Buffer<float> attenuation_of(const EventBatch& batch, const Attenuation* attenuation) {
  if (!attenuation) return {};
  const Memory memory = memory_of(attenuation->backend());
  Buffer<float> ones(Memory::host, batch.count);
  std::ranges::fill(ones.span(), 1.0f);
  if (on_host(batch.memory()) && on_host(memory)) {
    attenuation->apply(batch.view(), ones.data());
    return ones;
  }
  const EventBatch there = batch.to(memory);
  Buffer<float> factors = ones.to(memory);
  attenuation->apply(there.view(), factors.data());
  Buffer<float> result = factors.to(Memory::host);
  synchronize(nullptr);
  return result;
}

}  // namespace

void set_terms(EventBatch& batch, const EventTerms& terms) {
  check(batch, terms);
  batch.exposure = terms.exposure;
  const Memory memory = batch.memory();
  const EventBatch copy = on_host(memory) ? EventBatch{} : batch.to(Memory::host);
  if (!on_host(memory)) synchronize(nullptr);
  const EventBatch& here = on_host(memory) ? batch : copy;
  const EventView events = here.view();
  const Scanner* scanner = batch.scanner && batch.detectors ? batch.scanner.get() : nullptr;
  const Buffer<float> attenuation = attenuation_of(here, terms.attenuation);
  const bool of_bins = has_terms_of_bins(batch, terms);
  const double window_mm = static_cast<double>(batch.tof.window_mm);

  Buffer<float> multiplicative(Memory::host, batch.count);
  Buffer<float> additive(Memory::host, terms.randoms || terms.scatter ? batch.count : 0);
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, batch.count, 1024), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) {
      const double efficiency =
          scanner ? static_cast<double>(scanner->efficiency(events.detector1[i], events.detector2[i])) : 1.0;
      const double survival = attenuation.empty() ? 1.0 : static_cast<double>(attenuation[i]);
      const double m = efficiency * survival * terms.exposure;
      multiplicative[i] = static_cast<float>(m);
      if (additive.empty()) continue;
      if (!(m > 0)) {
        additive[i] = std::numeric_limits<float>::infinity();
        continue;
      }
      const double width_mm = of_bins ? static_cast<double>(events.bin_width_mm(i)) : 1.0;
      double sum = 0;
      if (terms.randoms) {
        const double rate = static_cast<double>(terms.randoms->rate(events.detector1[i], events.detector2[i]));
        sum += terms.randoms_scale * rate * (of_bins ? width_mm / window_mm : 1.0) / m;
      }
      if (terms.scatter)
        sum += static_cast<double>(scatter_at(*terms.scatter, sinogram_place(events.lor(i)))) * width_mm / survival;
      additive[i] = static_cast<float>(terms.reference_s * sum);
    }
  });
  batch.multiplicative = on_host(memory) ? std::move(multiplicative) : multiplicative.to(memory);
  batch.additive = on_host(memory) ? std::move(additive) : additive.to(memory);
  if (!on_host(memory)) synchronize(nullptr);  // before the host's arrays go
}

}  // namespace tofstream
