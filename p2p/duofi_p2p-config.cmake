include("${CMAKE_CURRENT_LIST_DIR}/duofi_p2p-targets.cmake")
