# lake_module(NAME a/b SRCS … HDRS … [DEPS …] [PRIVATE_DEPS …] [TESTS …] [TEST_DEPS …] [PCH header] [TEST_TIMEOUT s])
#
# The only way to make a library of ours. For module a/b it adds:
#   lake_a_b / lake::a_b       the static library, sources listed by hand
#   lake_a_b_link_check        whole archive + declared dependencies + an empty main: an undeclared use is a link error
#   lake_a_b_test              one test program from TESTS, label fast
# Headers form a file set, so `all_verify_interface_header_sets` compiles each one alone.
function(lake_module)
  cmake_parse_arguments(M "" "NAME;PCH;TEST_TIMEOUT" "SRCS;HDRS;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS" ${ARGN})
  if(M_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lake_module(${M_NAME}): unknown arguments ${M_UNPARSED_ARGUMENTS}")
  endif()
  string(REPLACE "/" "_" _flat ${M_NAME})
  set(_target lake_${_flat})
  add_library(${_target} STATIC ${M_SRCS})
  add_library(lake::${_flat} ALIAS ${_target})
  target_sources(${_target} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${M_HDRS})
  target_link_libraries(${_target} PUBLIC ${M_DEPS} PRIVATE ${M_PRIVATE_DEPS} lake_warnings)
  if(M_PCH)
    target_precompile_headers(${_target} PRIVATE ${M_PCH})
    target_compile_options(${_target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()

  if(NOT LAKE_BUILD_TESTS)
    return()
  endif()
  add_executable(${_target}_link_check ${CMAKE_SOURCE_DIR}/cmake/empty_main.cc)
  target_link_libraries(${_target}_link_check PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${_target}>)
  if(M_TESTS)
    add_executable(${_target}_test ${M_TESTS})
    target_link_libraries(${_target}_test PRIVATE ${_target} ${M_PRIVATE_DEPS} ${M_TEST_DEPS} GTest::gmock_main lake_warnings)
    if(LAKE_SANITIZE MATCHES "undefined")
      # Undefined behaviour is looked for in what is tested: in the tests, with their many macros, it would double the build's time.
      target_compile_options(${_target}_test PRIVATE -fno-sanitize=undefined)
    endif()
    if(NOT M_TEST_TIMEOUT)
      set(M_TEST_TIMEOUT 120)
    endif()
    add_test(NAME ${_flat} COMMAND ${_target}_test)
    set_tests_properties(${_flat} PROPERTIES LABELS fast TIMEOUT ${M_TEST_TIMEOUT}
      ENVIRONMENT "${LAKE_TEST_ENVIRONMENT};GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/cases/${_flat}.xml")
  endif()
endfunction()

# lake_python_test(NAME x FILES test_a.py … LABELS … [TIMEOUT s] [ENVIRONMENT k=v …])
#
# Runs pytest of the project's virtual environment on the files, which are named relative to the calling folder. The tests find
# the build folder in LAKE_BUILD_DIR and the program in LAKE_BINARY.
function(lake_python_test)
  cmake_parse_arguments(P "" "NAME;TIMEOUT" "FILES;LABELS;ENVIRONMENT" ${ARGN})
  if(P_UNPARSED_ARGUMENTS OR NOT P_NAME OR NOT P_FILES OR NOT P_LABELS)
    message(FATAL_ERROR "lake_python_test(${P_NAME}): wants NAME, FILES and LABELS; unknown: ${P_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT P_TIMEOUT)
    set(P_TIMEOUT 120)
  endif()
  foreach(_file IN LISTS P_FILES)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${_file})
      message(FATAL_ERROR "lake_python_test(${P_NAME}): there is no ${_file}")
    endif()
  endforeach()
  add_test(NAME ${P_NAME} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMAND ${CMAKE_SOURCE_DIR}/.venv/bin/python -m pytest -q -p no:cacheprovider --junitxml=${CMAKE_BINARY_DIR}/cases/${P_NAME}.xml
            ${P_FILES})
  set_tests_properties(${P_NAME} PROPERTIES LABELS "${P_LABELS}" TIMEOUT ${P_TIMEOUT}
    ENVIRONMENT "${LAKE_TEST_ENVIRONMENT};LAKE_BUILD_DIR=${CMAKE_BINARY_DIR};LAKE_BINARY=${CMAKE_BINARY_DIR}/lake;${P_ENVIRONMENT}")
endfunction()

# What the sanitizers need to know when a test runs.
set(LAKE_TEST_ENVIRONMENT
  "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/tsan.supp:halt_on_error=1:second_deadlock_stack=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "ASAN_OPTIONS=detect_leaks=1"
  "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/lsan.supp")
