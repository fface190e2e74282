// Adds kinds of records to their table when what they are registered in is loaded: see record_kinds.hpp. Apart from the
// table, which fuzzers link without core.
#include "gadgets/io/wire/record_kinds.hpp"

namespace tofstream::wire {

RecordsRegistration::RecordsRegistration(const RecordKind& kind, std::uint64_t layout) {
  if (layout == record_kind_layout)
    registry().add(Extension{[kind] { return problem_of(kind); }, [kind] { add_record_kind(kind); }});
  else
    registry().add(refused_for_its_layout("its kind of records"));
}

}  // namespace tofstream::wire
