// A machine as hwloc saves it: two NUMA nodes, each with one core and one PCI network card behind a host bridge.
#pragma once

#include <string>
#include <string_view>

namespace duofi::test {

/// `first_card` and `second_card` are PCI addresses such as "0000:03:00.0": on node 0, on node 1.
[[nodiscard]] inline std::string two_node_topology(std::string_view first_card, std::string_view second_card) {
    std::string text = R"(<?xml version="1.0" encoding="UTF-8"?>
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3"
         nodeset="0x3" complete_nodeset="0x3" allowed_nodeset="0x3" gp_index="1">
  <object type="Package" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
          complete_nodeset="0x1" gp_index="2">
   <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
           complete_nodeset="0x1" gp_index="3" local_memory="1073741824"/>
   <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
           complete_nodeset="0x1" gp_index="4">
    <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
            complete_nodeset="0x1" gp_index="5"/>
   </object>
   <object type="Bridge" gp_index="6" bridge_type="0-1" depth="0" bridge_pci="0000:[00-10]">
    <object type="PCIDev" gp_index="7" pci_busid="FIRST_CARD" pci_type="0200 [15b3:1019] [15b3:1019] 00"
            pci_link_speed="15.75"/>
   </object>
  </object>
  <object type="Package" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x2"
          complete_nodeset="0x2" gp_index="12">
   <object type="NUMANode" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x2"
           complete_nodeset="0x2" gp_index="13" local_memory="1073741824"/>
   <object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x2"
           complete_nodeset="0x2" gp_index="14">
    <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x2"
            complete_nodeset="0x2" gp_index="15"/>
   </object>
   <object type="Bridge" gp_index="16" bridge_type="0-1" depth="0" bridge_pci="0000:[80-90]">
    <object type="PCIDev" gp_index="17" pci_busid="SECOND_CARD" pci_type="0200 [15b3:1019] [15b3:1019] 00"
            pci_link_speed="15.75"/>
   </object>
  </object>
 </object>
</topology>
)";
    text.replace(text.find("FIRST_CARD"), 10, first_card);
    text.replace(text.find("SECOND_CARD"), 11, second_card);
    return text;
}

}  // namespace duofi::test
