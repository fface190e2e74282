// What travels between gadgets: an immutable payload shared without copies, and the type that an
// edge is checked by. Core counts events and bytes through two optional member functions, so it
// needs no idea of what a payload is.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

namespace tofstream {

// A payload's name in messages and documentation. Declare one beside the type:
//   template <> struct PayloadName<EventBatch> { static constexpr auto value = "events"; };
template <class T>
struct PayloadName {};

template <class T>
concept CountsEvents = requires(const T& payload) {
  { payload.event_count() } -> std::convertible_to<std::uint64_t>;
};
template <class T>
concept CountsBytes = requires(const T& payload) {
  { payload.bytes() } -> std::convertible_to<std::size_t>;
};

// A payload that wants to be told when a pure gadget passes it on with fewer events than it took.
template <class T>
concept NotesRejecting = CountsEvents<T> && requires(T& payload, const std::string& gadget) {
  payload.note_rejecting(gadget);
};

// A payload that may announce what is to come and hold nothing itself. No gadget of one input sees such a message: it
// is passed on if the gadget gives the same type, and ends there if not, so that authors need not know of it. A struct
// of several inputs that may hold one says `static constexpr bool takes_announcements = true`.
template <class T>
concept MayAnnounce = requires(const T& payload) {
  { payload.is_announcement() } -> std::same_as<bool>;
};

class SpillReader;
class SpillWriter;

// How a payload is written to disk and read again when an edge spills. Without it no edge of that payload may spill.
// Declare it beside the type, and define it with core/gadget/spill.hpp:
//   template <> struct Spill<ByteBlock> {
//     static void encode(const ByteBlock& block, SpillWriter& to);
//     static ByteBlock decode(SpillReader& from);  // what encode() wrote, in the same order
//   };
template <class T>
struct Spill {};

template <class T>
concept Spillable = requires(const T& payload, SpillWriter& to, SpillReader& from) {
  Spill<T>::encode(payload, to);
  { Spill<T>::decode(from) } -> std::same_as<T>;
};

// The same with the payload's type erased.
struct SpillCodec {
  void (*encode)(const void* payload, SpillWriter& to);
  std::shared_ptr<const void> (*decode)(SpillReader& from);
};

template <class T>
const SpillCodec* spill_codec() {
  if constexpr (Spillable<T>) {
    static constexpr SpillCodec codec{
        [](const void* payload, SpillWriter& to) { Spill<T>::encode(*static_cast<const T*>(payload), to); },
        [](SpillReader& from) -> std::shared_ptr<const void> { return std::make_shared<T>(Spill<T>::decode(from)); }};
    return &codec;
  } else {
    return nullptr;
  }
}

// A payload type with its C++ type erased; one object a type and library, so compare by `same_as`.
struct PayloadType {
  std::string name;
  const std::type_info* type;
  bool counts_events;
  std::uint64_t (*events)(const void*);  // 0 where the type does not count
  std::size_t (*bytes)(const void*);     // sizeof(T) where the type does not say
  const SpillCodec* spill;               // null: a payload that cannot be put on disk

  bool same_as(const PayloadType& other) const { return *type == *other.type; }
};

// The type's name as C++ spells it, for payloads without a PayloadName.
std::string demangled(const std::type_info&);

template <class T>
const PayloadType& payload_type() {
  static const PayloadType type{[] {
                                  if constexpr (requires { PayloadName<T>::value; })
                                    return std::string(PayloadName<T>::value);
                                  else
                                    return demangled(typeid(T));
                                }(),
                                &typeid(T),
                                CountsEvents<T>,
                                [](const void* p) -> std::uint64_t {
                                  if constexpr (CountsEvents<T>)
                                    return static_cast<const T*>(p)->event_count();
                                  else
                                    return 0;
                                },
                                [](const void* p) -> std::size_t {
                                  if constexpr (CountsBytes<T>)
                                    return static_cast<const T*>(p)->bytes();
                                  else
                                    return sizeof(T);
                                },
                                spill_codec<T>()};
  return type;
}

// One payload on its way. `movable`: core made the object from a value and there is one reader,
// which may take it.
struct Payload {
  std::shared_ptr<const void> data;
  bool movable = false;

  template <class T>
  static Payload of(T value) {
    return {std::make_shared<T>(std::move(value)), true};
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
