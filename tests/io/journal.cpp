// A journal: what is appended is read back, after every kind of damage and every end of the writer.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/journal/writer.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;
namespace journal = tofstream::journal;

namespace {

using Bytes = std::vector<std::byte>;

/// Frame number k, whose length and bytes follow from k.
Bytes frame(std::uint64_t k) {
  std::mt19937 random(static_cast<unsigned>(k));
  Bytes bytes(k * 37 % 301);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void append(journal::Writer& writer, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t k = begin; k < end; ++k) CHECK(writer.append_frame(frame(k)).number == k);
}

struct Read {
  std::vector<std::uint64_t> numbers;  // of entries whose bytes are those of frame(number)
  std::size_t others = 0;
  journal::Reader::Counts counts;
};

Read read(const std::filesystem::path& folder) {
  journal::Reader reader(folder);
  Read result;
  std::uint64_t ingress = 0;
  while (const auto entry = reader.next()) {
    CHECK(entry->ingress_ns >= ingress);
    ingress = entry->ingress_ns;
    if (std::ranges::equal(entry->bytes, frame(entry->number)))
      result.numbers.push_back(entry->number);
    else
      ++result.others;
  }
  result.counts = reader.counts();
  return result;
}

bool is_prefix(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t k = 0; k < numbers.size(); ++k)
    if (numbers[k] != k) return false;
  return true;
}

void flip(const std::filesystem::path& file, std::uint64_t at) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(stream.get() ^ 0x10);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(byte);
}

std::filesystem::path segment(const TemporaryFolder& folder, std::uint64_t number) {
  return folder / journal::segment_name(number);
}

/// All bytes of a place.
Bytes bytes_in(const FilePlace& place) {
  Bytes bytes(place.size);
  place.read(0, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a journal gives back frames and notes in their order, over segments and over a resumption") {
  const TemporaryFolder folder;
  {
    journal::Writer writer(folder.path(), {.segment_bytes = 5000});
    append(writer, 0, 100);
    const auto placed = writer.append_frame(frame(100));
    CHECK(bytes_in(placed.bytes) == frame(100));
    CHECK_THROWS_WITH((journal::Writer(folder.path())), doctest::Contains("it is being written already"));
  }
  CHECK(std::filesystem::exists(segment(folder, 3)));
  {
    journal::Writer writer(folder.path());
    CHECK(writer.entries_before() == 101);
    CHECK(writer.cut_bytes() == 0);
    writer.append_note("updates", std::as_bytes(std::span("noted", 5)));
    CHECK_THROWS_AS(writer.append_note(std::string(256, 'x'), {}), std::invalid_argument);
  }
  journal::Reader reader(folder.path());
  std::optional<journal::Entry> entry;
  for (std::uint64_t k = 0; k <= 100; ++k) {
    entry = reader.next();
    REQUIRE(entry);
    CHECK(entry->number == k);
    CHECK(entry->kind == journal::EntryKind::frame);
    CHECK(std::ranges::equal(entry->bytes, frame(k)));
  }
  entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->kind == journal::EntryKind::note);
  CHECK(entry->name == "updates");
  CHECK(std::ranges::equal(entry->bytes, std::as_bytes(std::span("noted", 5))));
  CHECK(!reader.next());
  CHECK(reader.counts().entries == 102);
  CHECK(reader.counts().missing_entries == 0);
  CHECK(reader.counts().damaged_places == 0);
  CHECK(reader.counts().torn_bytes == 0);
}

TEST_CASE("heads lead to a place, which is gone back to") {
  const TemporaryFolder folder;
  {
    journal::Writer writer(folder.path(), {.segment_bytes = 3000});
    append(writer, 0, 60);
  }
  journal::Reader reader(folder.path());
  journal::Position place;
  while (const auto head = reader.next_head(16)) {
    CHECK(head->size == frame(head->number).size());
    CHECK(head->bytes.size() == std::min<std::size_t>(16, head->size));
    if (head->number == 41) place = reader.position();
  }
  reader.go_to(place);
  const auto entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->number == 41);
  CHECK(reader.next()->number == 42);
  CHECK(std::ranges::equal(entry->bytes, frame(41)));  // as long as somebody keeps it
}

TEST_CASE("one writer of a program serves all who share it") {
  const TemporaryFolder folder;
  const auto one = journal::shared_writer(folder / "j");
  const auto other = journal::shared_writer(folder / "." / "j");
  CHECK(one == other);
  one->append_frame(frame(0));
  CHECK(other->append_note("x", {}).number == 1);
}

TEST_CASE("one writer serves all who name the folder by where they are, before it is there") {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto one = journal::shared_writer("j");
  const auto other = journal::shared_writer("j");
  std::filesystem::current_path(before);
  CHECK(one == other);
}

TEST_CASE("a torn end, wherever it was torn, is told apart, cut off and carried on from") {
  const TemporaryFolder whole;
  {
    journal::Writer writer(whole.path());
    append(writer, 0, 5);
  }
  const auto size = std::filesystem::file_size(segment(whole, 1));
  for (std::uint64_t cut = 0; cut < size; cut += 7) {
    CAPTURE(cut);
    const TemporaryFolder folder;
    std::filesystem::copy_file(segment(whole, 1), segment(folder, 1));
    std::filesystem::resize_file(segment(folder, 1), cut);
    if (cut < journal::segment_header_bytes) {
      CHECK_THROWS_WITH(journal::Reader(folder.path()), doctest::Contains("nothing of the journal can be read"));
      continue;
    }
    const Read torn = read(folder.path());
    CHECK(torn.others == 0);
    CHECK(is_prefix(torn.numbers));
    CHECK(torn.counts.damaged_places == 0);
    {
      journal::Writer writer(folder.path(), {.sync_every = {}});
      CHECK(writer.entries_before() == torn.numbers.size());
      CHECK(writer.cut_bytes() == torn.counts.torn_bytes);
      append(writer, torn.numbers.size(), 9);
    }
    const Read repaired = read(folder.path());
    CHECK(repaired.numbers.size() == 9);
    CHECK(is_prefix(repaired.numbers));
    CHECK(repaired.counts.torn_bytes == 0);
    CHECK(repaired.counts.damaged_places == 0);
  }
}

TEST_CASE("a segment of which not even the header was written is no end of the journal") {
  const TemporaryFolder folder;
  {
    journal::Writer writer(folder.path());
    append(writer, 0, 5);
  }
  std::ofstream(segment(folder, 2)) << "TOFJ";
  CHECK(read(folder.path()).counts.torn_bytes == 4);
  {
    journal::Writer writer(folder.path());
    CHECK(writer.cut_bytes() == 4);
    append(writer, 5, 8);
  }
  const Read all = read(folder.path());
  CHECK(all.numbers.size() == 8);
  CHECK(all.counts.damaged_places == 0);
  CHECK(all.counts.missing_entries == 0);
}

TEST_CASE("a bit that flipped costs no more than the entry that it is in, and is counted") {
  const TemporaryFolder whole;
  {
    journal::Writer writer(whole.path());
    append(writer, 0, 20);
  }
  const auto size = std::filesystem::file_size(segment(whole, 1));
  for (std::uint64_t at = 0; at < size; at += 13) {
    CAPTURE(at);
    const TemporaryFolder folder;
    std::filesystem::copy_file(segment(whole, 1), segment(folder, 1));
    flip(segment(folder, 1), at);
    const Read got = read(folder.path());
    CHECK(got.others == 0);
    CHECK(std::ranges::is_sorted(got.numbers));
    const bool in_header = at < journal::segment_header_bytes;
    CHECK(got.numbers.size() >= (in_header ? 20 : 19));
    if (got.numbers.size() == 20) continue;  // the segment's header, or padding
    const bool is_last = got.numbers.back() == 18;
    CHECK(got.counts.missing_entries == (is_last ? 0 : 1));
    CHECK((is_last ? got.counts.torn_bytes : got.counts.damaged_bytes) > 0);
  }
}

TEST_CASE("a journal within a journal's entry is no entry of it") {
  const TemporaryFolder inner, outer;
  {
    journal::Writer writer(inner.path());
    append(writer, 0, 5);
  }
  const std::string text = text_of(segment(inner, 1));
  {
    journal::Writer writer(outer.path());
    append(writer, 0, 3);
    writer.append_frame(std::as_bytes(std::span(text)));
    append(writer, 4, 6);
  }
  flip(segment(outer, 1), 48 + 48 + 88 + 128 + 16);  // the header of entry 3; the next one is searched for in its bytes
  const Read got = read(outer.path());
  CHECK(got.others == 0);
  CHECK(got.numbers == std::vector<std::uint64_t>{0, 1, 2, 4, 5});
}

TEST_CASE("a folder that is no journal, or one of another version, is one clear error") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH((journal::Reader(folder / "none")), doctest::Contains("cannot read the journal"));
  CHECK_THROWS_WITH(journal::Reader(folder.path()), doctest::Contains("is no journal: it has no segments"));
  { journal::Writer writer(folder.path()); }
  flip(segment(folder, 1), 8);
  CHECK_THROWS_WITH(journal::Reader(folder.path()), doctest::Contains("is of version 17 of journals"));
  CHECK_THROWS_WITH((journal::Writer("/proc/none")), doctest::Contains("name another folder"));
}

TEST_CASE("a full disk is one clear error, again at every later entry, and what was appended stays whole") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {  // a limit on file sizes stands for a full disk
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20'000, 20'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    journal::Writer writer(folder.path());
    std::uint64_t appended = 0;
    std::string first;
    try {
      for (;; ++appended) writer.append_frame(frame(appended));
    } catch (const std::runtime_error& error) {
      first = error.what();
    }
    bool again = false;
    try {
      writer.append_frame(frame(1));
    } catch (const std::runtime_error& error) {
      again = error.what() == first;
    }
    std::ofstream(folder / "said") << appended << ' ' << again << ' ' << first;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  std::ifstream said(folder / "said");
  std::uint64_t appended = 0;
  bool again = false;
  std::string words;
  said >> appended >> again;
  std::getline(said, words);
  CHECK(again);
  CHECK_MESSAGE(words.find("00000001.journal: File too large: the journal ends with its") != std::string::npos, words);
  const Read got = read(folder.path());
  CHECK(got.numbers.size() == appended);
  CHECK(is_prefix(got.numbers));
  CHECK(got.counts.torn_bytes == 0);
}

TEST_CASE("a writer that is killed leaves all that was acknowledged, and no more than one entry besides") {
  std::mt19937 random(3);
  for (const auto sync : {std::optional<std::chrono::milliseconds>(), std::optional(std::chrono::milliseconds(1)),
                          std::optional(std::chrono::milliseconds(0))}) {
    const TemporaryFolder folder;
    int acknowledged[2];
    REQUIRE(::pipe(acknowledged) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      journal::Writer writer(folder.path(), {.segment_bytes = 20'000, .sync_every = sync});
      for (std::uint64_t k = 0;; ++k) {
        writer.append_frame(frame(k));
        if (::write(acknowledged[1], &k, sizeof k) != sizeof k) ::_exit(1);
      }
    }
    ::close(acknowledged[1]);
    std::uint64_t count = 1, number = 0;
    REQUIRE(::read(acknowledged[0], &number, sizeof number) == sizeof number);  // wait until there is a journal
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 20'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(acknowledged[0], &number, sizeof number) == sizeof number) ++count;
    ::close(acknowledged[0]);
    if (!journal::is_journal(folder.path())) continue;  // it had not begun
    const Read got = read(folder.path());
    CHECK(is_prefix(got.numbers));
    CHECK(got.others == 0);
    CHECK(got.numbers.size() >= count);
    CHECK(got.numbers.size() <= count + 1);
    journal::Writer writer(folder.path());
    CHECK(writer.entries_before() == got.numbers.size());
  }
}
// SPDX-License-Identifier: Apache-2.0
