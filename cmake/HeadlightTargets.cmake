# What every target is compiled with.
add_library(headlight_flags INTERFACE)
target_compile_options(headlight_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms about overlaps and overruns in concatenated strings (PR 105651, 105329).
  target_compile_options(headlight_flags INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
  # GCC allows a class with members of an anonymous namespace in the main file only; a unity build includes all sources.
  target_compile_options(headlight_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Memory that the compiler uses before it first collects garbage, in KiB: a unit needs 1 to 2.5 GiB and compiles 8 to 10 % faster.
  target_compile_options(headlight_flags INTERFACE --param=ggc-min-heapsize=1500000)
endif()
target_compile_definitions(headlight_flags INTERFACE QT_NO_KEYWORDS QT_NO_CAST_TO_ASCII)
if(HEADLIGHT_WERROR)
  # GCC 12 reports the storage of an empty std::optional or std::variant as read uninitialised: a warning, not an error.
  target_compile_options(headlight_flags INTERFACE -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized>)
endif()
if(HEADLIGHT_SANITIZE)
  target_compile_options(headlight_flags INTERFACE -fsanitize=${HEADLIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(headlight_flags INTERFACE -fsanitize=${HEADLIGHT_SANITIZE})
endif()
if(HEADLIGHT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HEADLIGHT_FUZZ needs clang's libFuzzer: cmake --preset fuzz")
  endif()
  target_compile_options(headlight_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(headlight_flags INTERFACE -fsanitize=address,undefined)
endif()

# headlight_module(name DEPS a b LIBS X::y): the static library headlight_<name> from src/<name>/*.cpp.
function(headlight_module name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(headlight_${name} STATIC ${sources})
  target_include_directories(headlight_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(headlight_${name} PUBLIC headlight_flags)
  foreach(dep IN LISTS arg_DEPS)
    target_link_libraries(headlight_${name} PUBLIC headlight_${dep})
  endforeach()
  target_link_libraries(headlight_${name} PUBLIC ${arg_LIBS})
endfunction()

# headlight_optimize(target level): compiles a target whose time does not count at less than a release's -O3. Other build types keep
# their level.
function(headlight_optimize target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
endfunction()

# headlight_test(name LIBS … [SHARDS n]): the GoogleTest program <name>_tests from this folder's *_test.cpp. A CTest entry is
# the whole program or one of its n shards, not a case: starting LibTorch for each of thousands would take half an hour.
function(headlight_test name)
  cmake_parse_arguments(arg "GUI" "SHARDS" "LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/libfuzzer/")  # a program of its own
  add_executable(${name}_tests ${sources})
  target_link_libraries(${name}_tests PRIVATE ${arg_LIBS} headlight_flags GTest::gmock)
  if(arg_GUI)
    target_link_libraries(${name}_tests PRIVATE GTest::gtest Qt6::Test)
  else()
    target_link_libraries(${name}_tests PRIVATE GTest::gtest GTest::gtest_main)
  endif()
  # -O1: compiling them costs more than running them; -fPIC: as what carries the precompiled header.
  headlight_optimize(${name}_tests -O1)
  target_compile_options(${name}_tests PRIVATE -fPIC)
  target_include_directories(${name}_tests PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name}_tests PRIVATE HEADLIGHT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HEADLIGHT_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(entry ${name})
    if(last)
      math(EXPR number "${shard} + 1")
      set(entry ${name}-${number})
    endif()
    add_test(NAME ${entry} COMMAND ${name}_tests --gtest_brief=1)
    # The longest first, so that no core is left waiting at the end.
    set_tests_properties(${entry} PROPERTIES LABELS ${name} TIMEOUT 1500 COST ${arg_SHARDS}
      ENVIRONMENT "QT_QPA_PLATFORM=offscreen;GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
