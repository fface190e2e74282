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
KindRegistration<Kind>::KindRegistration(const Kind& kind) {
  registry().add(
      Extension{[kind] { return table_of<Kind>().problem_of(kind); }, [kind] { table_of<Kind>().add(kind); }});
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
