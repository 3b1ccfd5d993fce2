#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lake {

// An incremental SHA-256 (FIPS 180-4). Single-threaded.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // Adds bytes to the message.
  void Update(std::string_view bytes);
  // Returns the digest of everything added, as 64 lower-case hex characters. May be called once.
  std::string Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Returns the SHA-256 of `bytes` as 64 lower-case hex characters.
std::string Sha256Hex(std::string_view bytes);

}  // namespace lake
