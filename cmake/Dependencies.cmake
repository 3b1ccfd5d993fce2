# Every third-party dependency of Lake, in one place, with the version it is built and tested with and the reason it is here.
# tools/setup installs them; docs/adr/0008-dependencies.md argues the choices.
#
#   RocksDB 7.8.3        the embedded MetaStore
#   Boost 1.81           JSON (Boost.JSON)
#   OpenSSL 3.0          SHA-256
#   fmt 9.1              formatting
#   spdlog 1.10          logging
#   CLI11 2.1            command-line parsing
#   zlib 1.2, zstd 1.5, snappy 1.1   Avro block codecs
#   libedit 3.1          the SQL prompt's line editing
#   DuckDB 1.4.4         SQL, and the reader and writer of Parquet
#   GoogleTest 1.12, Google Benchmark 1.7, avro-c 1.11 (cross-check only)   tests and benchmarks

find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(fmt 9.1 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(Boost 1.81 EXACT REQUIRED COMPONENTS json)
find_package(RocksDB 7.8.3 REQUIRED)
if(LAKE_BUILD_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()

if(NOT LAKE_CORE_ONLY)
  find_package(ZLIB REQUIRED)
  find_package(PkgConfig REQUIRED)
  # Not under the prefix "zstd": its cache entries would blind RocksDB's own search for zstd at the next configure.
  pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
  add_library(PkgConfig::zstd ALIAS PkgConfig::libzstd)
  find_package(Snappy REQUIRED)
  find_package(CLI11 2.1 REQUIRED)
  pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
  if(LAKE_BUILD_TESTS OR LAKE_BUILD_BENCHES)
    pkg_check_modules(avro_c REQUIRED IMPORTED_TARGET avro-c)
  endif()
  if(LAKE_BUILD_BENCHES)
    find_package(benchmark 1.7 REQUIRED)
  endif()

  # DuckDB: an ordinary installation with -DDuckDB_ROOT=, otherwise the library and headers tools/setup brought from npm.
  set(_npm ${CMAKE_SOURCE_DIR}/tools/npm/node_modules)
  find_library(DuckDB_LIBRARY duckdb HINTS ${DuckDB_ROOT}/lib ${DuckDB_ROOT}
               PATHS ${_npm}/@duckdb/node-bindings-linux-x64 NO_DEFAULT_PATH)
  find_path(DuckDB_INCLUDE_DIR duckdb.hpp HINTS ${DuckDB_ROOT}/include ${DuckDB_ROOT}
            PATHS ${_npm}/duckdb/src/duckdb/src/include NO_DEFAULT_PATH)
  if(NOT DuckDB_LIBRARY OR NOT DuckDB_INCLUDE_DIR)
    message(FATAL_ERROR "DuckDB 1.4.4 not found: run tools/setup, or configure with -DDuckDB_ROOT=<prefix>")
  endif()
  add_library(DuckDB::DuckDB SHARED IMPORTED)
  set_target_properties(DuckDB::DuckDB PROPERTIES
    IMPORTED_LOCATION ${DuckDB_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DuckDB_INCLUDE_DIR})
endif()
