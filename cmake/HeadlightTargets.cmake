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
  if(HEADLIGHT_SANITIZE MATCHES "undefined")
    # A check of every pointer that is followed takes a quarter of the compiler's time; the address sanitizer sees what they would.
    target_compile_options(headlight_flags INTERFACE -fno-sanitize=null,alignment,vptr,object-size,pointer-overflow)
  endif()
endif()
if(HEADLIGHT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HEADLIGHT_FUZZ needs clang's libFuzzer: cmake --preset fuzz")
  endif()
  target_compile_options(headlight_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(headlight_flags INTERFACE -fsanitize=address,undefined)
endif()

# headlight_light(target): compiles a target at -O1 in a release, which takes two thirds of the time of its -O3. Other build types
# keep their level.
function(headlight_light target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# headlight_module(name DEPS a b LIBS X::y KERNELS c.cpp d/e.cpp PRECOMPILED carrier): the static library headlight_<name> from
# src/<name>/*.cpp. It is compiled at -O1 but for its kernels, the files whose loops over weights or texts take the time: they
# are compiled at the release's -O3, without the precompiled header, whose level would be theirs. Kernels that are written lane
# by lane (base/lanes.h) are as fast at -O1.
function(headlight_module name)
  cmake_parse_arguments(arg "" "PRECOMPILED" "DEPS;LIBS;KERNELS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(libraries headlight_flags ${arg_LIBS})
  foreach(dep IN LISTS arg_DEPS)
    list(APPEND libraries headlight_${dep})
  endforeach()
  set(targets headlight_${name})
  if(arg_KERNELS)
    list(TRANSFORM arg_KERNELS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM sources ${arg_KERNELS})
    list(APPEND targets headlight_${name}_kernels)
    add_library(headlight_${name}_kernels OBJECT ${arg_KERNELS})
    list(APPEND sources $<TARGET_OBJECTS:headlight_${name}_kernels>)
  endif()
  add_library(headlight_${name} STATIC ${sources})
  foreach(target IN LISTS targets)
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC ${libraries})
  endforeach()
  headlight_light(headlight_${name})
  if(arg_PRECOMPILED)
    headlight_precompile(headlight_${name} ${arg_PRECOMPILED})
  endif()
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
  # Compiling them costs more than running them; -fPIC: as what carries the precompiled header.
  headlight_light(${name}_tests)
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
