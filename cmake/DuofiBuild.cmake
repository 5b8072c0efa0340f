# Compiler settings and the three helpers that declare every target of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()

# One interface target carries what every target of ours needs.
add_library(duofi_flags INTERFACE)
target_include_directories(duofi_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(duofi_flags INTERFACE
  -Wall -Wextra -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=  # lines of the log name files of the project
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -ffunction-sections -fdata-sections
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
# Files of one target compiled together (CMAKE_UNITY_BUILD) see each other's unnamed namespaces.
target_compile_options(duofi_flags INTERFACE
  $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>,-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of this compiler inside std::string.
  target_compile_options(duofi_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow>)
endif()
if(DUOFI_WERROR)
  target_compile_options(duofi_flags INTERFACE -Werror)
endif()
if(DUOFI_SANITIZE)
  define_property(TARGET PROPERTY DUOFI_UNCHECKED INITIALIZE_FROM_VARIABLE DUOFI_UNCHECKED)
  target_compile_options(duofi_flags INTERFACE -fsanitize=${DUOFI_SANITIZE} -fno-omit-frame-pointer
                         $<$<BOOL:$<TARGET_PROPERTY:DUOFI_UNCHECKED>>:-fno-sanitize=undefined>)
  target_link_options(duofi_flags INTERFACE -fsanitize=${DUOFI_SANITIZE})
endif()

# duofi_compile_alone(<source> ...): never together with other files, since names in their unnamed namespaces are the same.
function(duofi_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION TRUE)
endfunction()

# duofi_library(<name> SOURCES ... [LINK ...]): one folder, one static library, links only what it may.
function(duofi_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC duofi_flags ${ARG_LINK})
endfunction()

# duofi_program(<name> SOURCES ... [LINK ...])
function(duofi_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE duofi_flags ${ARG_LINK})
  if(TARGET duofi_emulated)  # a cross build (tests/arm64)
    target_link_libraries(${name} PRIVATE duofi_emulated)
  endif()
endfunction()

# The test framework's headers are compiled once for all test programs: half of their build time otherwise.
function(duofi_share_test_headers name)
  if(NOT TARGET duofi_test_headers)
    # A program like those that use it: the compiler refuses headers made with other options.
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cpp "int main() { return 0; }\n")
    add_executable(duofi_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(duofi_test_headers PRIVATE duofi_flags GTest::gtest)
    target_precompile_headers(duofi_test_headers PRIVATE
      <gtest/gtest.h> <functional> <map> <memory> <string> <vector>)
  endif()
  target_precompile_headers(${name} REUSE_FROM duofi_test_headers)
endfunction()

# duofi_full_under_tsan(<target> ...): the thread sanitizer runs these only with --full, so only then they are built.
function(duofi_full_under_tsan)
  if(DUOFI_SANITIZE MATCHES thread AND NOT DUOFI_FULL_TESTS)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()

# duofi_test(<name> SOURCES ... [LINK ...] [LABELS ...] [TIMEOUT s]): a GoogleTest program, one ctest entry.
function(duofi_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE duofi_flags ${ARG_LINK} GTest::gtest GTest::gtest_main)
  duofi_share_test_headers(${name})
  if(TARGET duofi_emulated)
    target_link_libraries(${name} PRIVATE duofi_emulated duofi_left_out)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(DUOFI_SANITIZE)  # everything takes longer
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
  elseif(CMAKE_CROSSCOMPILING)  # emulated
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 10")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  elseif(CMAKE_CROSSCOMPILING AND NOT unit IN_LIST ARG_LABELS)  # not run there, so not built
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
