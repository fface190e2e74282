// What a kind of data brings to a reconstruction: the operator that models how a scanner measures an image, and what
// its back projections are divided by. Step (step.hpp) knows no more of a scanner than this.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/io/wire/packed.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/project/projector.hpp"

namespace tofstream {

/// The view of an owned batch that a projector takes.
template <class Data>
using ViewOf = decltype(std::declval<const Data&>().view());

/// What an update divides a subset's back projection by: see Projected.
struct SubsetSensitivity {
  std::shared_ptr<const Image> image;  // times time_fraction: the subset's own
  double time_fraction = 1;
  std::shared_ptr<const Image> support = {};  // of the whole; null: `image`
};

/// What a kind of data is called in messages and in the books.
struct DataWords {
  const char* data;    // "events"
  const char* missed;  // why some reconstruct nothing: the image gives them no expectation
};

/// What to tell the user about data that miss the image.
struct Missed {
  std::string what_to_do;    // in words, for the user
  bool is_expected = false;  // the image holds all that the scanner sees, so it is not the user's mistake
};

/// Owned data as the projector takes them.
template <class Data>
class DataViews {
 public:
  virtual ~DataViews() = default;
  /// Queued on the default stream. `room` keeps what is made for it, as long as the view is used; it may be that of an
  /// earlier view that is no longer.
  virtual ViewOf<Data> view(const Data& data, Buffer<float>& room) const {
    (void)room;
    return data.view();
  }
};

/// `Data`: see Subset.
template <class Data>
class SystemModel : public DataViews<Data> {
 public:
  /// Called before prepare(): so many ranks share the data, each with another_projector(), and may share what the model
  /// computes itself.
  virtual void share_among(int ranks) { (void)ranks; }
  /// Called once, before all others but share_among(). Makes the projector and the sensitivity for the scanner that
  /// `first.sample()` names, on the grid of `estimate`, or the one that it wishes for. Reports to the context what it
  /// chooses. Throws std::runtime_error for data of an unknown scanner.
  virtual void prepare(const Subset<Data>& first, const Estimate& estimate, Context& context) = 0;

  /// Called for each subset before it is projected: makes the sensitivity anew where the subset says that it changed.
  virtual void renew(const Subset<Data>& subset, Context& context) {
    (void)subset;
    (void)context;
  }

  virtual Projector<ViewOf<Data>>& projector() = 0;
  /// The same projector once more, on the calling thread's current device, for those who share the work. Throws
  /// std::logic_error where the model has no other.
  virtual std::unique_ptr<Projector<ViewOf<Data>>> another_projector(Context&) const {
    throw std::logic_error("this model of a scanner has one projector");
  }
  /// What another process needs beside the grid to make it: the geometry, as rank_service.cpp reads it. Throws
  /// std::runtime_error where it cannot be sent.
  virtual void pack_geometry(wire::PackWriter& to) const {
    (void)to;
    throw std::runtime_error("this model of a scanner has no ranks in other processes");
  }
  /// In the projector's memory.
  virtual SubsetSensitivity sensitivity(const Subset<Data>& subset) = 0;
  /// Corrects a back projection for known errors of the sensitivity; both images lie in the projector's memory.
  virtual void correct(const Image& estimate, Image& back_projection) {
    (void)estimate;
    (void)back_projection;
  }
  /// What an image of all data up to this subset shows; null: not known. `by_terms`: what additive terms that are
  /// renewed correct for; null: there are none.
  virtual std::shared_ptr<const Quantity> quantity(const Subset<Data>& subset, const NamedCorrection* by_terms,
                                                   Context& context) = 0;
  /// The modality of the scanner that prepare() met, the words for its data, and what they miss.
  virtual Modality modality() const = 0;
  virtual DataWords words() const = 0;
  virtual Missed missed() const = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
