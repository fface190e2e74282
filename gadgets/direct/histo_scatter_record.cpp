// What direct_scatter knows after each update: see histo_scatter_record.hpp.
#include "gadgets/direct/histo_scatter_record.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/atomic_file.hpp"

namespace tofstream {

namespace {

// As it lies in the file, before the estimate as a file of its kind.
struct MadeHead {
  std::int64_t iteration = 0;
  double factor = 1, reference_s = 1;
};
static_assert(sizeof(MadeHead) == 24 && sizeof(TailOfView) == 32);

/// A file beside the record for the time of a call, since kinds of scatter read and write files.
class FileBeside {
 public:
  explicit FileBeside(const std::filesystem::path& record) : file_(record.string() + ".nii.gz") {}
  ~FileBeside() {
    std::error_code not_there;
    std::filesystem::remove(file_, not_there);
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  const std::filesystem::path& path() const { return file_; }

 private:
  std::filesystem::path file_;
};

std::shared_ptr<const LineScatter> scatter_in(const std::vector<char>& content, const std::filesystem::path& record,
                                              const LineScatterKind& kind) {
  const FileBeside beside(record);
  AtomicFile written(beside.path());
  written.write(std::as_bytes(std::span(content)));
  written.commit(AtomicFile::Flush::later);
  return kind.read(beside.path());
}

}  // namespace

RecordedHistoScatter read_histo_scatter_record(const std::filesystem::path& file, std::int64_t update,
                                               const LineScatterKind& kind) {
  RecordedHistoScatter known;
  std::vector<char> made;
  for (const TermsRecord::Entry& entry : TermsRecord::read(file, update)) {
    if (entry.kind == TermsEntry::noted) {
      const auto tails = entry.values<TailOfView>(0);
      if (!tails) TermsRecord::refuse(file);
      known.tails.insert(known.tails.end(), tails->begin(), tails->end());
    } else if (entry.kind == TermsEntry::made) {
      const auto head = entry.head<MadeHead>();
      if (!head) TermsRecord::refuse(file);
      made = *entry.values<char>(sizeof(MadeHead));
      known.iteration = static_cast<int>(head->iteration);
      known.factor = head->factor;
      known.reference_s = head->reference_s;
    } else {
      known = {};
      made.clear();
    }
  }
  if (!made.empty()) known.scatter = scatter_in(made, file, kind);
  return known;
}

void record_histo_tails(TermsRecord& record, std::int64_t update, std::span<const TailOfView> of_update) {
  record.append(TermsEntry::noted, update, {}, std::as_bytes(of_update));
}

void record_histo_scatter(TermsRecord& record, std::int64_t update, const LineScatter& scatter, int iteration,
                          double factor, double reference_s) {
  const FileBeside beside(record.file());
  scatter.write(beside.path(), 1);
  std::ifstream stream(beside.path(), std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(stream), {}};
  const MadeHead head{iteration, factor, reference_s};
  record.append(TermsEntry::made, update, bytes_of(head), std::as_bytes(std::span(content)));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
