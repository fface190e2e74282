// The record that an estimator of scatter keeps in the run's folder, and that of a run that it goes on from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/step/terms_record.hpp"

namespace tofstream {

inline constexpr auto* resume_scatter_words =
    "Folder of a run that was killed: what it knew of its scatter at its checkpoint's update is taken from there";

class RunRecord {
 public:
  /// `scatter_file`: the name of the gadget's own file, beside which the record lies as .tofs. `resume_from`: folder or
  /// checkpoint of the run that this one goes on from; empty: none. Throws std::runtime_error for a damaged record.
  RunRecord(const std::filesystem::path& scatter_file, const std::filesystem::path& resume_from, Context& context) {
    const std::string name = scatter_file.string();
    const std::filesystem::path own = name.substr(0, name.rfind(".nii")) + ".tofs";
    const auto file = context.output_file(own);
    if (resume_from.empty()) {
      record_.emplace(file);
      return;
    }
    from_ = (std::filesystem::is_directory(resume_from) ? resume_from : resume_from.parent_path()) / own;
    update_ = checkpoint_step(resume_from).update;
    record_ = TermsRecord::going_on(file, from_, update_);
    if (update_ > 0 && !std::filesystem::exists(from_))
      context.log().warning(
          fmt::format("there is no {}: the scatter is made anew, of the image that the run goes on from, so the image "
                      "is not quite that of a run that was not killed",
                      from_.string()));
  }

  /// What this run goes on from: that record up to that update. Update 0: nothing.
  const std::filesystem::path& from() const { return from_; }
  std::int64_t update() const { return update_; }

  /// What was made before an update is not needed any more, unless the run's checkpoint is older than that: then it stays.
  void shorten(std::int64_t to_update, Context& context) {
    if (!record_ || to_update <= 0) return;
    const std::int64_t checkpoint = own_checkpoint();
    if (checkpoint == 0 || checkpoint >= to_update)
      write(context, [&](TermsRecord& record) { record.shorten(to_update); });
  }

  /// With the data, when the run's folder is known to be its own.
  void begin(Context& context) {
    write(context, [](TermsRecord& record) { record.begin(); });
  }
  /// A run goes on without a record where it cannot be written, as on a full disk.
  void write(Context& context, const std::function<void(TermsRecord&)>& work) {
    if (!record_) return;
    try {
      work(*record_);
    } catch (const std::system_error& error) {
      context.log().warning(
          fmt::format("if this run is killed, it cannot go on with the scatter that it has, but with one made anew: {}",
                      error.what()));
      std::error_code not_there;
      std::filesystem::remove(record_->file(), not_there);
      record_.reset();
    }
  }

 private:
  // A damaged one, which no run goes on from, says as little as none.
  std::int64_t own_checkpoint() const {
    try {
      return checkpoint_step(record_->file().parent_path()).update;
    } catch (const std::runtime_error&) {
      return 0;
    }
  }

  std::optional<TermsRecord> record_;
  std::filesystem::path from_;
  std::int64_t update_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
