// Keys for CURVE, ZeroMQ's encryption, as small YAML files: NAME.public.yaml, which is given away, and
// NAME.secret.yaml, which stays where it is and is its owner's alone. Keys are kept as Z85 text of 40 characters
// (ZeroMQ RFC 32).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream {

struct PublicKey {
  std::string name;  // of its owner
  std::string z85;
};

struct SecretKey {
  std::string name;
  std::string z85, public_z85;
};

/// Each throws std::runtime_error in one line that names the file: it cannot be read, is no key of that kind, or, of a
/// secret key, others than its owner may read it.
PublicKey read_public_key(const std::filesystem::path& file);
SecretKey read_secret_key(const std::filesystem::path& file);

/// That of a file, or those of all *.public.yaml of a folder, at least one. A file of a folder that is no key locks out
/// its owner alone: `warn` is told of it, in one line.
std::vector<PublicKey> read_public_keys(const std::filesystem::path& file_or_folder,
                                        const std::function<void(std::string_view)>& warn);

struct KeyPairFiles {
  std::filesystem::path public_file, secret_file;
  PublicKey key;
};

/// Draws a new pair and writes NAME.public.yaml and NAME.secret.yaml (mode 0600) into the folder, which is made if
/// missing. Throws std::runtime_error in one line where a file is there already or cannot be written, or where `name`
/// is not of letters, digits, '_' and '-'.
KeyPairFiles make_key_pair(const std::string& name, const std::filesystem::path& folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
