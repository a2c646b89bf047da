# One target per room: foretoken_room(NAME [rooms and libraries it may use]).
# In a room's folder, *_test.cpp become NAME_test (ctest), *_bench.cpp become NAME_bench, *_fuzz.cpp fuzz targets,
# everything else the library foretoken_NAME.
include(GoogleTest)

add_library(foretoken_flags INTERFACE)
target_compile_options(foretoken_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       $<$<BOOL:${FORETOKEN_WERROR}>:-Werror>)
target_include_directories(foretoken_flags INTERFACE ${PROJECT_SOURCE_DIR})

set(FORETOKEN_TEST_OPTIONS $<IF:$<CONFIG:Release>,-O1,-O0>)  # tests are built more often than they run

# FORETOKEN_PRECOMPILE: a target that parses the headers which most files read, once for all rooms. clang then builds twice
# as fast; gcc 12 gains little, and finds errors in std::string where there are none. Without it a library's file that
# forgets one of these headers does not compile.
function(foretoken_precompiled NAME)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${NAME}.cpp CONTENT "")
  add_library(${NAME} STATIC ${PROJECT_BINARY_DIR}/${NAME}.cpp)
  target_link_libraries(${NAME} PRIVATE foretoken_flags fmt::fmt nlohmann_json::nlohmann_json ${ARGN})
  target_precompile_headers(${NAME} PRIVATE <algorithm> <array> <filesystem> <functional> <map> <memory> <optional> <set>
    <span> <string> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
endfunction()

function(foretoken_room NAME)
  file(GLOB SOURCES CONFIGURE_DEPENDS *.cpp)
  set(TESTS ${SOURCES})
  set(BENCHES ${SOURCES})
  set(FUZZERS ${SOURCES})
  list(FILTER TESTS INCLUDE REGEX "_test\\.cpp$")
  list(FILTER BENCHES INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER FUZZERS INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER SOURCES EXCLUDE REGEX "_(test|bench|fuzz|main)\\.cpp$")

  if(SOURCES)
    add_library(foretoken_${NAME} STATIC ${SOURCES})
    target_link_libraries(foretoken_${NAME} PRIVATE foretoken_flags ${ARGN})
    if(FORETOKEN_PRECOMPILE)
      target_precompile_headers(foretoken_${NAME} REUSE_FROM foretoken_library_headers)
    endif()
    set(SELF foretoken_${NAME})
  else()
    add_library(foretoken_${NAME} INTERFACE)
    set(SELF "")
  endif()
  if(TESTS)
    add_executable(${NAME}_test ${TESTS})
    target_link_libraries(${NAME}_test PRIVATE foretoken_flags ${SELF} ${ARGN} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${NAME}_test PRIVATE FORETOKEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_compile_options(${NAME}_test PRIVATE ${FORETOKEN_TEST_OPTIONS})
    if(FORETOKEN_PRECOMPILE)
      target_precompile_headers(${NAME}_test REUSE_FROM foretoken_test_headers)
    endif()
    set(LABEL "")
    if(FORETOKEN_SLOW_TESTS)  # set by a room whose tests the sanitizers would take minutes for
      set(LABEL PROPERTIES LABELS slow)
    endif()
    gtest_discover_tests(${NAME}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX "${NAME}." ${LABEL})
  endif()
  if(BENCHES AND FORETOKEN_BENCHMARKS)
    add_executable(${NAME}_bench ${BENCHES})
    target_link_libraries(${NAME}_bench PRIVATE foretoken_flags ${SELF} ${ARGN} benchmark::benchmark_main)
    target_compile_definitions(${NAME}_bench PRIVATE FORETOKEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
  if(FUZZERS AND FORETOKEN_FUZZ)
    foreach(FUZZER ${FUZZERS})
      get_filename_component(FUZZ_NAME ${FUZZER} NAME_WE)
      add_executable(${FUZZ_NAME} ${FUZZER})
      target_link_libraries(${FUZZ_NAME} PRIVATE foretoken_flags ${SELF} ${ARGN} -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
