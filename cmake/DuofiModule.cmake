# One module with the net and the RMA tables, found under the names that callers build from NCCL_NET_PLUGIN=duofi and
# NCCL_RMA_PLUGIN=duofi (architecture 2).
add_library(duofi-plugin MODULE
  net_plugin/abi/nccl_v6.cpp
  rma_plugin/abi/rma_v13.cpp rma_plugin/abi/rma_v14.cpp rma_plugin/abi/rma_v15.cpp rma_plugin/abi/rma_v16.cpp)
target_link_libraries(duofi-plugin PRIVATE duofi_flags duofi_net duofi_rma)
set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_options(duofi-plugin PRIVATE
  -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,--as-needed)
if(NOT DUOFI_SANITIZE)
  target_link_options(duofi-plugin PRIVATE -Wl,-z,defs)
endif()
set_target_properties(duofi-plugin PROPERTIES
  PREFIX lib OUTPUT_NAME duofi-plugin NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  LINK_DEPENDS ${exports})
foreach(name nccl-net rccl-net nccl-rma rccl-rma)
  set(link ${PROJECT_BINARY_DIR}/lib/lib${name}-duofi.so)
  add_custom_command(TARGET duofi-plugin POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE_NAME:duofi-plugin> ${link})
  list(APPEND links ${link})
endforeach()
install(TARGETS duofi-plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${links} DESTINATION ${CMAKE_INSTALL_LIBDIR})
