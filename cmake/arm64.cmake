# Cross build for arm64 with Debian's compiler; what it makes runs under qemu-user. tests/arm64/sysroot.sh fills the sysroot.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

cmake_path(SET sysroot NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot)
if(NOT EXISTS ${sysroot}/usr/lib/aarch64-linux-gnu)
  message(FATAL_ERROR "${sysroot} is missing: `./run build arm64` makes it")
endif()
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig)

# Both variables are for programs that a test starts in turn (tests/arm64/start_program.c).
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -E EMULATED_BY=qemu-aarch64 -E QEMU_LD_PREFIX=${sysroot} -L ${sysroot})
