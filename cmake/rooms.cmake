# One target per room: foretoken_room(NAME [rooms and libraries it may use]).
# In a room's folder and the folders in it, *_test.cpp become NAME_test (ctest), *_bench.cpp become NAME_bench, *_fuzz.cpp
# become NAME_fuzz with a link for each of its targets, everything else the library foretoken_NAME. A folder with a
# CMakeLists.txt is a room of its own. Tests and benchmarks are left out where their libraries are missing
# (cmake/test_libraries.cmake).
#
# The presets that build everything, release and sanitize, compile all sources of a target as one (CMAKE_UNITY_BUILD), and
# sanitize compiles the headers of libraries once (FORETOKEN_PRECOMPILE): parsing headers takes most of a build
# (docs/contributor/architecture.md, "Building").
include(cmake/test_libraries.cmake)
option(FORETOKEN_PRECOMPILE "Compile the headers of libraries once for all rooms (clang; GCC 12 gains nothing)" OFF)

add_library(foretoken_flags INTERFACE)
target_compile_options(foretoken_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       $<$<BOOL:${FORETOKEN_WERROR}>:-Werror>)
target_include_directories(foretoken_flags INTERFACE ${PROJECT_SOURCE_DIR})

set(FORETOKEN_TEST_OPTIONS -O0)  # tests are built more often than they run

# Options of rooms that take long to build and run little. A room sets FORETOKEN_QUICK to ON where that is so in a release,
# too, and to OFF where its tests run longer than it takes to build.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(FORETOKEN_QUICK_OPTIONS -O0)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(FORETOKEN_QUICK_OPTIONS -O1)
endif()

# Makes TARGET, which compiles HEADERS once for every target that reuses them and has the same options.
function(foretoken_precompile TARGET OPTIONS LIBRARIES)
  file(CONFIGURE OUTPUT ${TARGET}.cpp CONTENT "// Empty: its target holds precompiled headers.\n")
  add_library(${TARGET} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${TARGET}.cpp)
  target_link_libraries(${TARGET} PRIVATE foretoken_flags foretoken_fmt nlohmann_json::nlohmann_json ${LIBRARIES})
  target_compile_options(${TARGET} PRIVATE ${OPTIONS})
  target_precompile_headers(
    ${TARGET} PRIVATE <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory> <optional>
    <random> <set> <span> <sstream> <string> <string_view> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>
    ${ARGN})
endfunction()

set(FORETOKEN_FUZZ_OPTIONS -fsanitize=fuzzer)

if(FORETOKEN_PRECOMPILE)
  foretoken_precompile(foretoken_headers "" "")
  if(FORETOKEN_FUZZ)
    foretoken_precompile(foretoken_fuzz_headers "${FORETOKEN_FUZZ_OPTIONS}" "")
  endif()
  if(FORETOKEN_QUICK_OPTIONS)
    foretoken_precompile(foretoken_quick_headers "${FORETOKEN_QUICK_OPTIONS}" "")
  endif()
  if(FORETOKEN_TESTS_BUILT)
    foretoken_precompile(foretoken_test_headers "${FORETOKEN_TEST_OPTIONS}" foretoken_test_libraries <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# Makes a library of a room. SPEED is "quick" or empty.
function(foretoken_library TARGET KIND SOURCES SPEED)
  add_library(${TARGET} ${KIND} ${SOURCES})
  target_link_libraries(${TARGET} PRIVATE foretoken_flags ${ARGN})
  set(HEADERS foretoken_headers)
  if(SPEED STREQUAL "quick")
    target_compile_options(${TARGET} PRIVATE ${FORETOKEN_QUICK_OPTIONS})
    set(HEADERS foretoken_quick_headers)
  endif()
  if(FORETOKEN_PRECOMPILE)
    target_precompile_headers(${TARGET} REUSE_FROM ${HEADERS})
  endif()
endfunction()

function(foretoken_room NAME)
  if(NOT FORETOKEN_TESTS_COST)  # set by a room: seconds of its tests under the sanitizers
    set(FORETOKEN_TESTS_COST 1)
  endif()
  file(GLOB SOURCES CONFIGURE_DEPENDS *.cpp)
  file(GLOB FOLDERS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */)
  foreach(FOLDER ${FOLDERS})
    if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER} AND NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/CMakeLists.txt)
      file(GLOB INSIDE CONFIGURE_DEPENDS ${FOLDER}/*.cpp ${FOLDER}/*/*.cpp ${FOLDER}/*/*/*.cpp)
      list(APPEND SOURCES ${INSIDE})
    endif()
  endforeach()
  set(TESTS ${SOURCES})
  set(BENCHES ${SOURCES})
  set(FUZZERS ${SOURCES})
  list(FILTER TESTS INCLUDE REGEX "_test\\.cpp$")
  list(FILTER BENCHES INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER FUZZERS INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER SOURCES EXCLUDE REGEX "_(test|bench|fuzz|main)\\.cpp$")

  if(SOURCES)
    if(NOT DEFINED FORETOKEN_QUICK AND CMAKE_BUILD_TYPE STREQUAL "Debug")
      set(FORETOKEN_QUICK ON)
    endif()
    if(FORETOKEN_QUICK_OPTIONS AND FORETOKEN_QUICK)
      foretoken_library(foretoken_${NAME} STATIC "${SOURCES}" quick ${ARGN})
    else()
      foretoken_library(foretoken_${NAME} STATIC "${SOURCES}" "" ${ARGN})
    endif()
    set(SELF foretoken_${NAME})
  else()
    add_library(foretoken_${NAME} INTERFACE)
    set(SELF "")
  endif()
  if(FORETOKEN_TESTS STREQUAL "SLOW" AND NOT FORETOKEN_SLOW_TESTS)
    list(FILTER TESTS INCLUDE REGEX "_large_test\\.cpp$")
  elseif(FORETOKEN_TESTS STREQUAL "FAST" AND FORETOKEN_SLOW_TESTS)
    set(TESTS "")
  endif()
  if(TESTS AND FORETOKEN_TESTS_BUILT)
    add_executable(${NAME}_test ${TESTS})
    target_link_libraries(${NAME}_test PRIVATE foretoken_flags ${SELF} ${ARGN} foretoken_test_libraries)
    target_compile_options(${NAME}_test PRIVATE ${FORETOKEN_TEST_OPTIONS})
    if(FORETOKEN_PRECOMPILE)
      target_precompile_headers(${NAME}_test REUSE_FROM foretoken_test_headers)
    endif()
    if(FORETOKEN_SLOW_TESTS)  # set by a room whose tests the sanitizers would take minutes for
      gtest_discover_tests(${NAME}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX "${NAME}." PROPERTIES LABELS slow)
    else()  # one process: most of these tests take less time than its start
      add_test(NAME ${NAME} COMMAND ${NAME}_test --gtest_brief=1)
      set_tests_properties(${NAME} PROPERTIES COST ${FORETOKEN_TESTS_COST})  # the longest start first
    endif()
  endif()
  if(BENCHES AND FORETOKEN_BENCHMARKS_BUILT)
    add_executable(${NAME}_bench ${BENCHES})
    target_link_libraries(${NAME}_bench PRIVATE foretoken_flags ${SELF} ${ARGN} benchmark::benchmark_main)
    target_compile_options(${NAME}_bench PRIVATE ${FORETOKEN_QUICK_OPTIONS})  # the library does the work
    target_compile_definitions(${NAME}_bench PRIVATE FORETOKEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
  if(FUZZERS AND FORETOKEN_FUZZ)
    add_executable(${NAME}_fuzz ${FUZZERS} ${PROJECT_SOURCE_DIR}/sim/base/fuzz_main.cpp)
    target_compile_options(${NAME}_fuzz PRIVATE ${FORETOKEN_FUZZ_OPTIONS})
    if(FORETOKEN_PRECOMPILE)
      target_precompile_headers(${NAME}_fuzz REUSE_FROM foretoken_fuzz_headers)
    endif()
    target_link_libraries(${NAME}_fuzz PRIVATE foretoken_flags ${SELF} ${ARGN} -fsanitize=fuzzer)
    foreach(FUZZER ${FUZZERS})
      get_filename_component(TARGET_NAME ${FUZZER} NAME_WE)
      add_custom_command(TARGET ${NAME}_fuzz POST_BUILD
                         COMMAND ${CMAKE_COMMAND} -E create_symlink ${NAME}_fuzz ${TARGET_NAME})
    endforeach()
  endif()
endfunction()

# Embeds text files into a room's library: foretoken_embed(NAME HEADER NAMESPACE FILES...); HEADER declares the strings.
function(foretoken_embed NAME HEADER NAMESPACE)
  set(ASSETS ${CMAKE_CURRENT_BINARY_DIR}/assets.cpp)
  add_custom_command(
    OUTPUT ${ASSETS}
    COMMAND ${CMAKE_COMMAND} -D OUT=${ASSETS} -D HEADER=${HEADER} -D NAMESPACE=${NAMESPACE} -D "FILES=${ARGN}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(foretoken_${NAME} PRIVATE ${ASSETS})
  set_source_files_properties(${ASSETS} PROPERTIES COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:Clang>:-Wno-overlength-strings>")
endfunction()
