# ccache and mold, where the machine has them. Both only change how fast a build is.
find_program(LAKE_CCACHE ccache)
if(LAKE_CCACHE)
  # The precompiled DuckDB header needs the two sloppiness settings; the base directory makes a second clone hit the cache.
  set(_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LAKE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
endif()

find_program(LAKE_MOLD mold)
if(LAKE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
