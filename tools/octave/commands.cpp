// The gateway's commands: see commands.hpp. Arrays are (x, y, z) and (u, w, view), the first index fastest, which is
// the library's own order of memory, so that they go to it and come from it as they are.
#include "commands.hpp"

#include <map>

#include <tofstream.h>

#include "operators.hpp"

namespace tofstream::octave {
namespace {

using Results = std::vector<mxArray*>;

void require(tof_status status) {
  constexpr const char* kinds[] = {"", "invalid", "no_device", "no_memory", "file", "failed", "internal"};
  if (status != TOF_OK) throw Refused(kinds[status], tof_error());
}

tof_grid take_grid(Arguments& given, const std::string& name) {
  const auto size = given.wholes((name + ".size").c_str(), 3);
  const auto voxel = given.numbers((name + ".voxel_mm").c_str(), 3);
  const auto origin = given.numbers((name + ".origin_mm").c_str(), 3);
  tof_grid grid{};
  grid.size = sizeof grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid.voxels[axis] = size[axis];
    grid.voxel_mm[axis] = static_cast<float>(voxel[axis]);
    grid.origin_mm[axis] = static_cast<float>(origin[axis]);
  }
  return grid;
}

Shape shape_of_grid(const tof_grid& grid) {
  return {grid.voxels[0], grid.voxels[1], grid.voxels[2]};
}

struct OperatorShape {
  Shape image, data;
  bool is_double = false;
};

OperatorShape shapes_of(const tof_operator* op) {
  std::int64_t image[3] = {}, data[4] = {};
  std::int32_t axes = 0;
  tof_backend backend = TOF_CPU;
  require(tof_operator_shape(op, image, data, &axes, &backend));
  OperatorShape shape{.image = {image[2], image[1], image[0]}, .data = {}, .is_double = backend == TOF_REFERENCE};
  for (std::int32_t axis = axes; axis > 0; --axis) shape.data.push_back(data[axis - 1]);
  if (axes == 1) shape.data.push_back(1);
  return shape;
}

mxArray* make_shape(const Shape& shape) {
  return make_row({shape.begin(), shape.end()});
}

tof_backend take_backend(Arguments& given) {
  const std::string precision = given.text("precision");
  if (precision == "single") return TOF_CPU;
  if (precision == "double") return TOF_REFERENCE;
  throw Refused("invalid", "precision is '" + precision + "', and must be 'single' or 'double'");
}

Results keep_new(tof_operator* op) {
  return {make_identity(keep_operator(op))};
}

Results make_views(Arguments& given) {
  const std::string projector = given.text("projector"), parameters = given.text("parameters");
  const tof_grid grid = take_grid(given, "grid");
  const auto angles = given.numbers("camera.angles_deg");
  if (angles.empty()) throw Refused("invalid", "camera.angles_deg is empty: give at least one view");
  const auto radii = given.numbers("camera.radius_mm", angles.size());
  const auto detector = given.wholes("camera.detector", 2);
  const auto pixel = given.numbers("camera.pixel_mm", 2);
  tof_array map{};
  map.size = sizeof map;
  map.name = "mu";
  map.grid = take_grid(given, "camera.mu_grid");
  const Floats mu = given.optional_floats("camera.mu", shape_of_grid(map.grid));
  map.voxels = mu.data();
  const tof_backend backend = take_backend(given);

  tof_views views{};
  views.size = sizeof views;
  views.views = static_cast<std::int32_t>(angles.size());
  for (std::size_t axis = 0; axis < 2; ++axis) {
    views.pixels[axis] = detector[axis];
    views.pixel_mm[axis] = static_cast<float>(pixel[axis]);
  }
  views.angle_deg = angles.data();
  views.radius_mm = radii.data();
  tof_operator* made = nullptr;
  require(tof_operator_of_views(projector.c_str(), parameters.c_str(), &grid, &views, &map, mu.data() ? 1 : 0, backend,
                                &made));
  return keep_new(made);
}

// The arrays stay where they are; `scanner` is theirs, and stays too.
tof_events take_events(Arguments& given, std::string& scanner) {
  scanner = given.text("events.scanner");
  tof_events events{};
  events.size = sizeof events;
  events.count = given.whole("the number of events");
  const auto count = static_cast<std::size_t>(events.count);
  events.scanner = scanner.c_str();
  events.detector1 = given.uint32_in_place("events.detector1", count);
  events.detector2 = given.uint32_in_place("events.detector2", count);
  events.x1 = given.single_in_place("events.x1", count);
  events.y1 = given.single_in_place("events.y1", count);
  events.z1 = given.single_in_place("events.z1", count);
  events.x2 = given.single_in_place("events.x2", count);
  events.y2 = given.single_in_place("events.y2", count);
  events.z2 = given.single_in_place("events.z2", count);
  events.tof_mm = given.single_in_place("events.tof_mm", count);
  events.tof_width_mm = given.single_in_place("events.tof_width_mm", count);
  events.tof_sigma_mm = static_cast<float>(given.numbers("events.tof_sigma_mm", 1).front());
  events.tof_bin_mm = static_cast<float>(given.numbers("events.tof_bin_mm", 1).front());
  return events;
}

// The arrays are not copied: the operator's object in the session holds them.
Results make_events(Arguments& given) {
  const std::string projector = given.text("projector"), parameters = given.text("parameters");
  const tof_grid grid = take_grid(given, "grid");
  std::string scanner;
  const tof_events events = take_events(given, scanner);
  const tof_backend backend = take_backend(given);
  tof_operator* made = nullptr;
  require(tof_operator_of_events(projector.c_str(), parameters.c_str(), &grid, &events, nullptr, 0, backend, &made));
  return keep_new(made);
}

Results make_directions(Arguments& given) {
  const std::string projector = given.text("projector"), parameters = given.text("parameters");
  const tof_grid grid = take_grid(given, "grid");
  const std::vector<std::int32_t> views = given.wholes("directions.views", 2);
  tof_directions directions{};
  directions.size = sizeof directions;
  directions.azimuths = views[0];
  directions.tilts = views[1];
  directions.acceptance_deg = static_cast<float>(given.numbers("directions.acceptance_deg", 1).front());
  const std::string lattice = given.text("directions.lattice");
  if (lattice != "view" && lattice != "image")
    throw Refused("invalid", "directions.lattice is '" + lattice + "', and must be 'view' or 'image'");
  directions.on_image = lattice == "image";
  const tof_backend backend = take_backend(given);
  tof_operator* made = nullptr;
  require(tof_operator_of_directions(projector.c_str(), parameters.c_str(), &grid, &directions, backend, &made));
  return keep_new(made);
}

Results make_part(Arguments& given) {
  const tof_operator* const whole = operator_of(given.identity("operator"));
  const std::vector<std::int32_t> which = given.wholes("part and parts", 2);
  tof_operator* made = nullptr;
  require(tof_operator_part(whole, which[0], which[1], &made));
  return keep_new(made);
}

Results drop(Arguments& given) {
  drop_operator(given.identity("operator"));
  return {};
}

Results shape(Arguments& given) {
  const OperatorShape shapes = shapes_of(operator_of(given.identity("operator")));
  return {make_shape(shapes.image), make_shape(shapes.data), make_text(shapes.is_double ? "double" : "single")};
}

// Numbered from 1, as the session does.
Results indices(Arguments& given) {
  const tof_operator* const op = operator_of(given.identity("operator"));
  const Shape data = shapes_of(op).data;
  const std::int64_t count = data.size() > 2 ? data.back() : data.front();
  std::vector<std::int64_t> from_0(static_cast<std::size_t>(count));
  require(tof_operator_indices(op, from_0.data(), count));
  std::vector<double> from_1;
  from_1.reserve(from_0.size());
  for (const std::int64_t index : from_0) from_1.push_back(static_cast<double>(index + 1));
  return {make_column(from_1)};
}

Results report(Arguments& given) {
  return {make_text(tof_operator_report(operator_of(given.identity("operator"))))};
}

Results forward(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  const OperatorShape shapes = shapes_of(op);
  if (shapes.is_double) {
    const Doubles image = given.doubles("image", shapes.image);
    mxArray* const data = make_doubles(shapes.data);
    require(tof_forward_double(op, image.data(), doubles_of(data)));
    return {data};
  }
  const Floats image = given.floats("image", shapes.image);
  mxArray* const data = make_singles(shapes.data);
  require(tof_forward(op, image.data(), singles_of(data), nullptr));
  return {data};
}

Results adjoint(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  const OperatorShape shapes = shapes_of(op);
  if (shapes.is_double) {
    const Doubles data = given.doubles("data", shapes.data);
    mxArray* const image = make_doubles(shapes.image);
    require(tof_adjoint_double(op, data.data(), doubles_of(image)));
    return {image};
  }
  const Floats data = given.floats("data", shapes.data);
  mxArray* const image = make_singles(shapes.image);
  require(tof_adjoint(op, data.data(), singles_of(image), nullptr));
  return {image};
}

Results plan(Arguments& given) {
  require(tof_plan(operator_of(given.identity("operator")), nullptr));
  return {};
}

Results em_step(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  const OperatorShape shapes = shapes_of(op);
  const Floats image = given.floats("image", shapes.image);
  const Floats counts = given.optional_floats("counts", shapes.data);
  const Floats additive = given.optional_floats("additive", shapes.data);
  const Floats multiplicative = given.optional_floats("multiplicative", shapes.data);
  mxArray* const step = make_singles(shapes.image);
  tof_tally tally{};
  tally.size = sizeof tally;
  require(tof_em_step(op, image.data(), counts.data(), multiplicative.data(), additive.data(), singles_of(step), &tally,
                      nullptr));
  return {step, make_row({static_cast<double>(tally.rejected)})};
}

Results sensitivity(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  const OperatorShape shapes = shapes_of(op);
  const Floats multiplicative = given.optional_floats("multiplicative", shapes.data);
  mxArray* const image = make_singles(shapes.image);
  require(tof_sensitivity(op, multiplicative.data(), singles_of(image), nullptr));
  return {image};
}

Results deposit(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  std::string scanner;
  const tof_events events = take_events(given, scanner);
  const std::int64_t nearest = given.whole("nearest");
  mxArray* const data = make_singles(shapes_of(op).data);
  tof_deposited what{};
  what.size = sizeof what;
  require(tof_deposit(op, &events, nearest != 0, singles_of(data), &what, nullptr));
  return {data, make_row({static_cast<double>(what.deposited), static_cast<double>(what.beyond_acceptance),
                          static_cast<double>(what.outside), static_cast<double>(what.no_line)})};
}

Results multiplicative(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  const std::string scanner = given.text("scanner");
  tof_array map{};
  map.size = sizeof map;
  map.name = "mu";
  map.grid = take_grid(given, "mu_grid");
  const Floats mu = given.optional_floats("mu", shape_of_grid(map.grid));
  map.voxels = mu.data();
  const std::int64_t most_lines = given.whole("most_lines");
  mxArray* const data = make_singles(shapes_of(op).data);
  tof_lines what{};
  what.size = sizeof what;
  require(tof_direction_terms(op, scanner.c_str(), mu.data() ? &map : nullptr, most_lines, singles_of(data), &what,
                              nullptr));
  return {data, make_row({static_cast<double>(what.all), static_cast<double>(what.drawn),
                          static_cast<double>(what.accepted)})};
}

Results additive(Arguments& given) {
  tof_operator* const op = operator_of(given.identity("operator"));
  const std::string scanner = given.text("scanner");
  tof_randoms from{};
  from.size = sizeof from;
  from.scanner = scanner.c_str();
  from.seconds = given.numbers("seconds", 1).front();
  from.rate_cps = given.numbers("rate_cps", 1).front();
  from.window_mm = static_cast<float>(given.numbers("window_mm", 1).front());
  from.most_lines = given.whole("most_lines");
  std::string scanner_of_delayeds;
  tof_events delayeds{};
  if (given.whole("whether there are delayeds") != 0) {
    delayeds = take_events(given, scanner_of_delayeds);
    if (scanner_of_delayeds.empty()) delayeds.scanner = nullptr;
    from.delayeds = &delayeds;
  }
  mxArray* const data = make_singles(shapes_of(op).data);
  require(tof_direction_randoms(op, &from, singles_of(data), nullptr));
  return {data};
}

Results run(Arguments& given) {
  const std::string pipeline = given.text("pipeline"), folder = given.text("out");
  const std::vector<std::string> settings = given.texts("settings");
  std::vector<const char*> pointers;
  pointers.reserve(settings.size());
  for (const std::string& setting : settings) pointers.push_back(setting.c_str());
  char* text = nullptr;
  const tof_status status = tof_run(pipeline.c_str(), pointers.data(), pointers.size(), folder.c_str(), &text);
  const std::string json = text ? text : "";
  tof_free(text);
  require(status);
  return {make_text(json)};
}

Results version(Arguments& /*given*/) {
  return {make_text(tof_version()), make_row({static_cast<double>(count_operators())})};
}

}  // namespace

std::vector<mxArray*> do_command(const std::string& name, Arguments& given) {
  static const std::map<std::string, Results (*)(Arguments&)> commands = {{"views", make_views},
                                                                          {"events", make_events},
                                                                          {"part", make_part},
                                                                          {"drop", drop},
                                                                          {"shape", shape},
                                                                          {"indices", indices},
                                                                          {"report", report},
                                                                          {"forward", forward},
                                                                          {"adjoint", adjoint},
                                                                          {"plan", plan},
                                                                          {"em_step", em_step},
                                                                          {"sensitivity", sensitivity},
                                                                          {"run", run},
                                                                          {"version", version},
                                                                          {"directions", make_directions},
                                                                          {"deposit", deposit},
                                                                          {"multiplicative", multiplicative},
                                                                          {"additive", additive}};
  const auto found = commands.find(name);
  if (found == commands.end()) throw Refused("invalid", "the gateway does not know the command '" + name + "'");
  return found->second(given);
}

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
