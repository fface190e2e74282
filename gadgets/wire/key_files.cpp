// Key files: see key_files.hpp.
#include "gadgets/wire/key_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <zmq.h>

#include "core/base/atomic_file.hpp"
#include "core/base/private_folder.hpp"
#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t z85_characters = 40;
using Z85 = std::array<char, z85_characters + 1>;  // as libzmq writes it, with a zero at its end

[[noreturn]] void fail(const fs::path& file, const std::string& message) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), message));
}

struct PublicFile {
  std::string name, z85;
  static constexpr auto params = describe(param<&PublicFile::name>("name", required, "Whose it is"),
                                          param<&PublicFile::z85>("public", required, "The key, in Z85"));
};

struct SecretFile {
  std::string name, z85;
  static constexpr auto params = describe(param<&SecretFile::name>("name", required, "Whose it is"),
                                          param<&SecretFile::z85>("secret", required, "The key, in Z85"));
};

// A file with a key of the one kind, not of the other.
template <class File>
File read_key(const fs::path& path, const char* kind, const char* other_kind) {
  const Value document = formats::read_document(path);
  if (!document.find(kind) && document.find(other_kind))
    fail(path, fmt::format("is a {} key, and a {} one is wanted here", other_kind, kind));
  File file = formats::described<File>(document, "key");
  std::array<std::uint8_t, 32> bytes{};
  // libzmq takes any text whose length is a multiple of 5, whatever its length.
  if (file.z85.size() != z85_characters || zmq_z85_decode(bytes.data(), file.z85.c_str()) == nullptr)
    formats::refuse(document.find(kind)->where, fmt::format("'{}' is no key, which has 40 characters (Z85)", kind));
  return file;
}

void require_private(const fs::path& file) {
  const auto others = fs::perms::group_all | fs::perms::others_all;
  if ((fs::status(file).permissions() & others) != fs::perms::none)
    fail(file, fmt::format("others can read this secret key: chmod 600 {}", file.string()));
}

void require_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (name.empty() || !std::ranges::all_of(name, is_plain))
    throw std::runtime_error(fmt::format("'{}' cannot name a key: use letters, digits, '_' and '-'", name));
}

void write(const fs::path& path, mode_t mode, const std::string& text) {
  AtomicFile file(path, mode);
  file.write(text);
  file.commit();
}

}  // namespace

PublicKey read_public_key(const fs::path& file) {
  PublicFile read = read_key<PublicFile>(file, "public", "secret");
  return {std::move(read.name), std::move(read.z85)};
}

SecretKey read_secret_key(const fs::path& file) {
  SecretFile read = read_key<SecretFile>(file, "secret", "public");
  require_private(file);
  Z85 derived{};
  if (zmq_curve_public(derived.data(), read.z85.c_str()) != 0) fail(file, zmq_strerror(zmq_errno()));
  return {std::move(read.name), std::move(read.z85), derived.data()};
}

std::vector<PublicKey> read_public_keys(const fs::path& file_or_folder,
                                        const std::function<void(std::string_view)>& warn) {
  if (!fs::is_directory(file_or_folder)) return {read_public_key(file_or_folder)};
  std::vector<PublicKey> keys;
  for (const auto& entry : fs::directory_iterator(file_or_folder)) {
    if (!entry.path().filename().string().ends_with(".public.yaml")) continue;
    try {
      keys.push_back(read_public_key(entry.path()));
    } catch (const std::runtime_error& error) {
      warn(fmt::format("{}: its owner cannot connect", error.what()));
    }
  }
  if (keys.empty())
    fail(file_or_folder, "holds no *.public.yaml that is a key: put the public keys there of those who may connect");
  return keys;
}

KeyPairFiles make_key_pair(const std::string& name, const fs::path& folder) {
  require_name(name);
  make_private_folder(folder);
  KeyPairFiles made{folder / (name + ".public.yaml"), folder / (name + ".secret.yaml"), {name, {}}};
  for (const auto& file : {made.public_file, made.secret_file})
    if (fs::exists(file)) fail(file, "is there already: remove it, or take another name");
  Z85 public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0)
    throw std::runtime_error(fmt::format("no keys can be made: {}: install a libzmq with CURVE", zmq_strerror(errno)));
  made.key.z85 = public_key.data();
  write(made.secret_file, 0600,
        fmt::format("# A secret key: it stays where it is, and is its owner's alone.\nname: {}\nsecret: \"{}\"\n", name,
                    secret_key.data()));
  write(made.public_file, 0644,
        fmt::format("# A public key: give it to those whom '{0}' is to talk with.\nname: {0}\npublic: \"{1}\"\n", name,
                    public_key.data()));
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
