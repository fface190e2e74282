// A projector from the table of its kind, with parameters as YAML text.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/gadget/gadget_record.hpp"
#include "core/value/document.hpp"
#include "core/value/params.hpp"
#include "gadgets/step/projector_gadget.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/operator.hpp"

namespace tofstream::c_api {

template <class Data>
struct MadeProjector {
  const ProjectorEntry<Data>* entry = nullptr;
  std::shared_ptr<const void> params;
  std::shared_ptr<typename Data::Projector> projector;
  std::shared_ptr<const DoublePrecision<typename Data::View>> in_double;  // of a reference, else null
  std::string report;                                                     // what it chose itself, "key: value" a line
};

/// Throws Wrong where there is none: the operator is not a reference.
template <class Data>
const DoublePrecision<typename Data::View>& in_double_of(const MadeProjector<Data>& made) {
  if (!made.in_double) throw Wrong("op works in single precision: make it with TOF_REFERENCE for double");
  return *made.in_double;
}

/// What a projector reported of itself when it was made: "key: value" a line.
std::string report_of(const GadgetRecord& record);

/// Throws OutOfMemory where a reference's images would take more than there is, which the system might only notice later.
void require_room_for_reference(const Grid& grid);

/// Throws Wrong for a name or parameters that are not known, with the ones that may be meant, and what make throws.
template <class Data>
MadeProjector<Data> make_projector(const char* name, const char* parameters, const Grid& grid, Processor on,
                                   const typename Data::Geometry& geometry) {
  using Entry = ProjectorEntry<Data>;
  require_given(name, "projector");
  const Entry& entry = table_of<Entry>().at(name);
  const std::shared_ptr<void> params = entry.default_params();
  Problems problems;
  if (parameters && *parameters) {
    const Value value = parse_document(parameters, "parameters", problems);
    if (problems.empty()) read_params(entry.params, params.get(), {value, name, problems});
  }
  if (!problems.empty()) throw Wrong(problems.all().front().text());
  GadgetRecord record(name);
  Context context(record);
  MadeProjector<Data> made{.entry = &entry, .params = params};
  if (on.is_reference) {
    if (!entry.make_reference)
      throw Wrong(fmt::format("backend is TOF_REFERENCE, and '{}' has no reference in double precision", name));
    require_room_for_reference(grid);
    auto reference = entry.make_reference(params.get(), grid, geometry, context);
    made.projector = std::move(reference.projector);
    made.in_double = std::move(reference.in_double);
  } else {
    made.projector = entry.make(params.get(), grid, on.backend, geometry, context);
  }
  made.report = report_of(record);
  return made;
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
