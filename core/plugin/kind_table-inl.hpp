// The text of kind_table.hpp, for the source file that makes a table:
//
//     template KindTable<ScannerKind>& table_of<ScannerKind>();
//     template struct KindRegistration<ScannerKind>;
#pragma once

#include "core/plugin/kind_table.hpp"

namespace tofstream {

template <class Kind>
KindTable<Kind>& table_of() {
  static KindTable<Kind> table;
  return table;
}

template <class Kind>
KindRegistration<Kind>::KindRegistration(const Kind& kind, std::uint64_t layout) {
  if (layout == kind_layout<Kind>)
    registry().add(
        Extension{[kind] { return table_of<Kind>().problem_of(kind); }, [kind] { table_of<Kind>().add(kind); }});
  else
    registry().add(refused_for_its_layout(std::string("its ") + Kind::called.one));
}

}  // namespace tofstream
