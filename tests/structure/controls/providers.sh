put common/ofi/discovery.cpp 'bool f(S s) {' '    return s == "tcp;ofi_rxm";' '}'
flags common/ofi/discovery.cpp:2 "a layered provider in discovery"
put net_plugin/platform.cpp 'auto filter = "efa";'
flags net_plugin/platform.cpp:1 "a provider in the plugin"
put tools/duofi/bench.cpp 'auto p = {"x", "shm"};'
flags tools/duofi/bench.cpp:1 "a provider in the tool"
put common/ofi/discovery.cpp '// the "tcp" provider' 'auto text = "tcp and shm are tried";'
accepts "comments and prose"
