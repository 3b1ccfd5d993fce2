#pragma once

#include <cstdint>
#include <string_view>

namespace lake::metastore {

// Returns the CRC-32C (Castagnoli, RFC 3720 appendix B.4) of the bytes that `crc` was computed of,
// followed by `bytes`. Begin with 0.
std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes);

// Returns a checksum in the form in which RocksDB's logs store it: so that bytes which contain
// checksums of their own can be checksummed safely.
std::uint32_t MaskCrc32c(std::uint32_t crc);

}  // namespace lake::metastore
