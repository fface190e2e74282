// The records of a plug-in, found by libelf: see plugin_file.hpp.
#include "core/plugin/plugin_file.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

namespace tofstream {
namespace {

constexpr const char* section_name = ".tofstream";

#if defined(__x86_64__)
constexpr GElf_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr GElf_Half own_machine = EM_AARCH64;
#else
#error "name this processor's ELF machine"
#endif

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::filesystem::path& file) : number_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) throw std::runtime_error(fmt::format("cannot be read ({})", std::strerror(errno)));
  }
  ~FileDescriptor() { ::close(number_); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// The section's records. The linker may leave space between them, so each is found by its magic.
std::vector<PluginRecord> records_in(const char* bytes, std::size_t size) {
  constexpr std::size_t head = offsetof(PluginRecord, headers);
  std::vector<PluginRecord> records;
  for (std::size_t at = 0; at + head <= size;) {
    PluginRecord record;
    const std::size_t whole = std::min(sizeof record, size - at);
    if (std::memcmp(bytes + at, record.magic, sizeof record.magic) != 0) {
      at += alignof(PluginRecord);
      continue;
    }
    std::memcpy(static_cast<void*>(&record), bytes + at, whole);
    for (char* text :
         {std::end(record.version), std::end(record.runtime), std::end(record.compiler), std::end(record.gadget)})
      text[-1] = '\0';
    records.push_back(record);
    at += alignof(PluginRecord);
  }
  return records;
}

std::vector<PluginRecord> records_of(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header{};
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (!name || std::strcmp(name, section_name) != 0) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data && data->d_buf) return records_in(static_cast<const char*>(data->d_buf), data->d_size);
  }
  return {};
}

}  // namespace

std::vector<PluginRecord> read_plugin_records(const std::filesystem::path& file) {
  const FileDescriptor descriptor(file);
  if (elf_version(EV_CURRENT) == EV_NONE) throw std::runtime_error("this program's libelf is too old");
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(descriptor.number(), ELF_C_READ, nullptr));
  GElf_Ehdr header{};
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || !gelf_getehdr(elf.get(), &header) || header.e_type != ET_DYN)
    throw std::runtime_error("is no shared object: remove it, or build it again where the build was cut short");
  if (header.e_machine != own_machine || gelf_getclass(elf.get()) != ELFCLASS64)
    throw std::runtime_error("was built for another kind of processor: build it on this one");
  std::vector<PluginRecord> records = records_of(elf.get());
  if (records.empty())
    throw std::runtime_error(
        "declares no gadget for tofstream: use TOFSTREAM_GADGET of <tofstream/gadget.hpp>, or move the library "
        "elsewhere");
  return records;
}

// Compiled with the digest that plug-ins have (cmake/TofstreamPackage.cmake).
PluginRecord own_record() {
  return plugin_record("");
}

void check_record(const PluginRecord& record) {
  const PluginRecord own = own_record();
  const auto refuse = [](const std::string& what) {
    throw std::runtime_error(what + ": build it again with this tofstream's headers");
  };
  // Members behind `abi` mean what they say only if these two agree.
  if (record.abi != own.abi || record.size != own.size)
    refuse(fmt::format("was built for plug-in ABI {}, and this program has {}", record.abi, own.abi));
  if (std::string_view(record.version) != own.version)
    refuse(fmt::format("was built for tofstream {}, and this is {}", record.version, own.version));
  if (std::string_view(record.runtime) != own.runtime)
    refuse(fmt::format("was built with {} ({}), and this program with {} ({})", record.runtime, record.compiler,
                       own.runtime, own.compiler));
  if (record.headers != own.headers)
    refuse(fmt::format("was built from headers of tofstream {} that are not this program's", record.version));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
