put net_plugin/send_comm.cpp '#include <rdma/fabric.h>'
flags net_plugin/send_comm.cpp:1 "libfabric outside of common/ofi"
put net_plugin/send_comm.cpp '#include "rma_plugin/window.hpp"'
flags net_plugin/send_comm.cpp:1 "net includes rma"
put common/util/error.hpp 'int x;' '#include "common/ofi/fid.hpp"'
flags common/util/error.hpp:2 "util includes ofi"
put common/ofi/quirks.cpp '#include "common/abi/net_v6.h"'
flags common/ofi/quirks.cpp:1 "ofi includes the plugin's interface"
put common/topology/affinity.cpp '#include <hwloc.h>'
flags common/topology/affinity.cpp:1 "hwloc outside of machine.cpp"
put common/topology/machine.cpp '#include <hwloc.h>'
accepts "hwloc in machine.cpp"
put tools/duofi/info.cpp '#include <CLI/App.hpp>'
flags tools/duofi/main.cpp:1 "CLI11 in two files"
put tools/duofi/report.hpp '#include <nlohmann/json.hpp>'
flags tools/duofi/report.hpp:1 "JSON in a header"
put common/util/log.hpp '#include <spdlog/logger.h>'
flags common/util/log.hpp:1 "spdlog in a header"
put common/abi/net_v6.h '#include <cstdint>'
flags common/abi/net_v6.h:1 "C++ in a C header"
put common/abi/net_v6.h '#include <stdint.h>' '#include "host_types.h"'
accepts "C headers side by side"
put common/loader/net_host.hpp '#include "common/abi/net_v6.h"'
accepts "the loader and an interface header"
put common/loader/net_host.hpp '#include "common/abi/boundary.hpp"'
flags common/loader/net_host.hpp:1 "the loader and the boundary wrapper"
put common/bootstrap/store.hpp '#include "common/loader/net_host.hpp"'
flags common/bootstrap/store.hpp:1 "bootstrap includes upwards"
put examples/01_load_plugins.cpp '#include "net_plugin/plugin.hpp"'
flags examples/01_load_plugins.cpp:1 "an example reaches into the plugin"
put common/memory/policy.cpp '#include "policy.hpp"'
flags common/memory/policy.cpp:1 "a path that does not start at the root"
put common/memory/policy.cpp '#include <fmt/format.h>'
flags common/memory/policy.cpp:1 "a heavy fmt header"
put common/memory/policy.cpp '#include <infiniband/verbs.h>'
flags common/memory/policy.cpp:1 "an unknown library"
put common/memory/policy.cpp '// #include <rdma/fabric.h>' '/*' '#include <rdma/fabric.h>' '*/'
accepts "an include inside a comment"
put p2p/select.cpp '#include <rdma/fabric.h>'
flags p2p/select.cpp:1 "libfabric in P2P"
put p2p/select.cpp '#include "common/ofi/fid.hpp"'
flags p2p/select.cpp:1 "P2P includes the fabric core"
put p2p/abi.h '#include "p2p/transport/comm.hpp"'
flags p2p/abi.h:1 "C++ in the C header of P2P"
put p2p/store.cpp '#include "common/bootstrap/store.hpp"' '#include "common/local/segment.hpp"'
accepts "what P2P may include"
