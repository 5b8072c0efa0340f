# The module for Neuron's libnccom, which looks for this one file name: the same core behind tables that NCCL and RCCL
# would misread, so it exports nothing of theirs (net contract 1.5, L1, L3).
add_library(nccom-net MODULE net_plugin/abi/neuron_v4.cpp net_plugin/abi/neuron_v5.cpp net_plugin/abi/neuron_v6.cpp)
target_link_libraries(nccom-net PRIVATE duofi_flags duofi_net)
set(neuron_exports ${PROJECT_SOURCE_DIR}/cmake/exports_neuron.map)
target_link_options(nccom-net PRIVATE
  -Wl,--version-script=${neuron_exports} -Wl,--gc-sections -Wl,--as-needed -Wl,-soname,libnccom-net.so)
if(NOT DUOFI_SANITIZE)
  target_link_options(nccom-net PRIVATE -Wl,-z,defs)
endif()
set_target_properties(nccom-net PROPERTIES
  UNITY_BUILD OFF  # each file names the network for its own table
    PREFIX lib NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LINK_DEPENDS ${neuron_exports})
install(TARGETS nccom-net LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
