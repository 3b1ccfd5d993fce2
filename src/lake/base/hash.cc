#include "lake/base/hash.h"

#include <array>

#include <openssl/evp.h>

#include "lake/base/check.h"

namespace lake {

struct Sha256::Context {
  EVP_MD_CTX* evp = nullptr;
  bool finished = false;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  LAKE_CHECK(
      context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1,
      "OpenSSL knows SHA-256");
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_->evp);
}

void Sha256::Update(std::string_view bytes) {
  LAKE_CHECK(!context_->finished, "a finished digest takes no more bytes");
  LAKE_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1,
             "SHA-256 takes bytes");
}

std::string Sha256::Finish() {
  LAKE_CHECK(!context_->finished, "a digest is finished once");
  context_->finished = true;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  LAKE_CHECK(EVP_DigestFinal_ex(context_->evp, digest.data(), &size) == 1,
             "SHA-256 can be finished");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * static_cast<std::size_t>(size));
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest.at(i) >> 4];
    hex += kDigits[digest.at(i) & 0x0F];
  }
  return hex;
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

}  // namespace lake
