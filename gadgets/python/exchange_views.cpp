// Views to and from Python: see exchange.hpp. The plan of a scan goes over once, views name their places in it.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/python/exchange_arrays.hpp"
#include "kernels/types/float_counts.hpp"

namespace tofstream {
namespace {

/// Calls visit(name, array) for each of the batch's arrays that Python sees.
template <class Batch, class Visit>
void for_each_named_of_views(Batch& batch, Visit&& visit) {
  visit("counts", batch.counts);
  visit("multiplicative", batch.multiplicative);
  visit("additive", batch.additive);
}

/// Calls visit(name, member) for each number of a place, as Python names them.
template <class Visit>
void for_each_number_of_place(Visit&& visit) {
  visit("angle_deg", &ViewPlace::angle_deg);
  visit("tilt_deg", &ViewPlace::tilt_deg);
  visit("radius_mm", &ViewPlace::radius_mm);
  visit("centre_u_mm", &ViewPlace::centre_u_mm);
  visit("centre_w_mm", &ViewPlace::centre_w_mm);
  visit("start_s", &ViewPlace::start_s);
  visit("duration_s", &ViewPlace::duration_s);
  visit("head", &ViewPlace::head);
}

// Scripts hand it on as it is.
PythonJson histo_json(const HistoImages& histo) {
  return {{"lie_along_view", histo.lie_along_view},
          {"centre_mm", {histo.centre_mm.x, histo.centre_mm.y, histo.centre_mm.z}},
          {"tof_sigma_mm", histo.tof_sigma_mm},
          {"acceptance_deg", histo.acceptance_deg},
          {"deposit_variance", histo.deposit_variance}};
}

HistoImages histo_of(const PythonJson& histo) {
  HistoImages made{.lie_along_view = histo.at("lie_along_view").get<bool>(),
                   .tof_sigma_mm = histo.at("tof_sigma_mm").get<float>(),
                   .acceptance_deg = histo.at("acceptance_deg").get<float>(),
                   .deposit_variance = histo.at("deposit_variance").get<float>()};
  for (int axis = 0; axis < 3; ++axis)
    made.centre_mm.set(axis, histo.at("centre_mm").at(static_cast<std::size_t>(axis)).get<float>());
  return made;
}

PythonJson plan_json(const ViewSet& set) {
  PythonJson plan = {{"name", set.name},
                     {"collimator", set.collimator},
                     {"size", {set.size[0], set.size[1], set.size[2]}},
                     {"pixel_mm", {set.pixel_mm.x, set.pixel_mm.y, set.pixel_mm.z}},
                     {"is_histo_image", set.kind == ViewKind::histo_image},
                     {"histo", histo_json(set.histo)},
                     {"windows_keV", PythonJson::array()}};
  for (const EnergyWindow& window : set.windows) plan["windows_keV"].push_back({window.low_keV, window.high_keV});
  for_each_number_of_place([&](const char* name, auto member) {
    for (const ViewPlace& place : set.places) plan[name].push_back(place.*member);
  });
  return plan;
}

ViewSet plan_of(const PythonJson& plan) {
  ViewSet set{.name = plan.at("name").get<std::string>(), .collimator = plan.at("collimator").get<std::string>()};
  set.kind = plan.at("is_histo_image").get<bool>() ? ViewKind::histo_image : ViewKind::camera;
  if (const auto histo = plan.find("histo"); histo != plan.end() && !histo->is_null()) set.histo = histo_of(*histo);
  for (int axis = 0; axis < 3; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    set.size[at] = plan.at("size").at(at).get<int>();
    set.pixel_mm.set(axis, plan.at("pixel_mm").at(at).get<float>());
  }
  for (const PythonJson& window : plan.at("windows_keV"))
    set.windows.push_back({window.at(0).get<float>(), window.at(1).get<float>()});
  set.places.resize(plan.at("angle_deg").size());
  for_each_number_of_place([&]<class T>(const char* name, T ViewPlace::*member) {
    for (std::size_t view = 0; view < set.places.size(); ++view)
      set.places[view].*member = plan.at(name).at(view).get<T>();
  });
  return set;
}

// The plan that views are of: that of the input, or one that the script made.
std::shared_ptr<const ViewSet> set_of_given(const PythonJson& header, const std::string& where,
                                            ExchangeMemory& memory) {
  const auto plan = header.find("plan");
  if (plan == header.end()) {
    if (!memory.views_set) throw std::runtime_error(fmt::format("{} gave views of no plan", where));
    return memory.views_set;
  }
  auto set = std::make_shared<ViewSet>(plan_of(*plan));
  if (memory.given_set && *memory.given_set == *set) return memory.given_set;
  try {
    set->validate();
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{} gave a plan of views that cannot be: {}", where, error.what()));
  }
  return memory.given_set = std::move(set);
}

void check_record(const ViewRecord& record, const ViewSet& set, const std::string& where) {
  if (record.view < 0 || static_cast<std::size_t>(record.view) >= set.places.size())
    throw std::runtime_error(
        fmt::format("{} gave view {}, but the plan has {} (from 0)", where, record.view, set.places.size()));
  if (!(record.exposure > 0 && std::isfinite(record.exposure)))
    throw std::runtime_error(fmt::format("{} gave view {} an exposure of {}", where, record.view, record.exposure));
}

std::uint64_t counts_in(std::span<const float> pixels) {
  double sum = 0;
  for (const float count : pixels) sum += static_cast<double>(count);
  return static_cast<std::uint64_t>(std::llround(sum));
}

void check_views(const ViewBatch& batch, PythonSession& session) {
  for_each_named_of_views(batch, [&](const char* name, const Buffer<float>& array) {
    if (is_unchanged(name, array, session)) return;
    check_finite(name, array, session.where());
    if (any(array.data(), array.size(), [](float value) { return value < 0; }))
      throw std::runtime_error(fmt::format("{} gave a negative number in {}", session.where(), name));
  });
}

}  // namespace

Offer offer(const std::shared_ptr<const ViewBatch>& given, SharedArena& arena, ExchangeMemory& memory) {
  auto batch = on_host(given->memory()) ? given : std::make_shared<const ViewBatch>(given->to(Memory::host));
  if (batch != given) synchronize(nullptr);
  if (!batch->whole_counts.empty()) batch = std::make_shared<const ViewBatch>(with_float_counts(*batch));
  Offer result;
  Placing placing(arena, result);
  for_each_named_of_views(*batch,
                          [&](const char* name, const auto& array) { placing.add(name, array.data(), array.bytes()); });
  placing.finish();
  if (result.lease.is_payload) result.lease.owners.push_back(batch);
  result.header = {{"window", batch->window},
                   {"index", PythonJson::array()},
                   {"exposure", PythonJson::array()},
                   {"booked", PythonJson::array()},
                   {"arrays", placing.ranges()}};
  for (const ViewRecord& record : batch->records) {
    result.header["index"].push_back(record.view);
    result.header["exposure"].push_back(record.exposure);
    result.header["booked"].push_back(record.counts);
  }
  if (memory.views_set != batch->set) result.header["plan"] = plan_json(*batch->set);
  memory.views_set = batch->set;
  memory.views_quantity = batch->quantity;
  memory.reference_s = batch->reference_s;
  return result;
}

Accepted<ViewBatch> accept(const PythonJson& header, PythonSession& session, ExchangeMemory& memory,
                           std::type_identity<ViewBatch>) {
  Accepted<ViewBatch> result;
  ViewBatch& batch = result.payload;
  batch.set = set_of_given(header, session.where(), memory);
  batch.window = header.at("window").get<int>();
  if (batch.window < 0 || batch.window >= static_cast<int>(std::max<std::size_t>(batch.set->windows.size(), 1)))
    throw std::runtime_error(fmt::format("{} gave views of energy window {}, but the plan has {} (from 0)",
                                         session.where(), batch.window, batch.set->windows.size()));
  batch.reference_s = memory.reference_s;
  batch.quantity = memory.views_quantity;
  const PythonJson& index = header.at("index");
  for (std::size_t i = 0; i < index.size(); ++i) {
    batch.records.push_back(
        {.view = index.at(i).get<std::int32_t>(), .exposure = header.at("exposure").at(i).get<double>()});
    check_record(batch.records.back(), *batch.set, session.where());
  }
  batch.count = static_cast<std::int64_t>(batch.records.size()) * batch.set->pixels();
  const PythonJson& arrays = header.at("arrays");
  for_each_named_of_views(batch, [&](const char* name, Buffer<float>& array) {
    if (const auto place = arrays.find(name); place != arrays.end() && batch.count > 0)
      array = adopt<float>(*place, batch.count, session, result.is_shared);
  });
  check_views(batch, session);
  const auto pixels = static_cast<std::size_t>(batch.set->pixels());
  for (std::size_t i = 0; i < batch.records.size(); ++i)
    if (const auto booked = header.find("booked"); booked != header.end())
      batch.records[i].counts = booked->at(i).get<std::uint64_t>();
    else if (!batch.counts.empty())
      batch.records[i].counts = counts_in(batch.counts.span().subspan(i * pixels, pixels));
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
