// `duofi topo` as users run it: live, files, descriptions, all outputs, faults (V-18, V-19, p2p contract 3.7).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/tools/command.hpp"

namespace duofi::test {
namespace {

std::string path_of(const char* name) {
    return (std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + name)).string();
}

std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    return text.str();
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST(Topo, ThisMachine) {
    const Ended topo = Command({"topo", "-v"}, {{"DUOFI_P2P_HOST_DEVICES", "0,0"}}).wait();
    EXPECT_EQ(topo.exit_code, 0) << topo.err;
    EXPECT_NE(topo.out.find("PHB-I"), std::string::npos) << topo.out;
    EXPECT_NE(topo.out.find("source: hwloc live"), std::string::npos);
    EXPECT_NE(topo.out.find("DEV0-DEV1  path PHB, level SYS, oracle 1 -> IPC"), std::string::npos);
    const Ended threads = Command({"topo", "--threads"}, {{"DUOFI_P2P_HOST_DEVICES", "0,0"}}).wait();
    EXPECT_NE(threads.out.find("PHB-D"), std::string::npos) << threads.out;
    const Ended near =
        Command({"topo"}, {{"DUOFI_P2P_HOST_DEVICES", "0,0"}, {"NCCL_P2P_LEVEL", "PIX"}}).wait();
    EXPECT_NE(near.out.find("PHB-N"), std::string::npos) << near.out;
    EXPECT_NE(near.out.find("level in force: PIX (NCCL_P2P_LEVEL)"), std::string::npos);
}

TEST(Topo, ADescriptionInAllForms) {  // V-14
    const std::string svg = path_of(".svg"), xml = path_of(".xml");
    const Ended topo =
        Command({"topo", "--sim", "topo=trn1:16", "--json", "--svg", svg, "--dump", xml}).wait();
    EXPECT_EQ(topo.exit_code, 0) << topo.err;
    EXPECT_EQ(count_of(topo.out, "\"edge\": \"R\""), 96U);
    EXPECT_EQ(count_of(topo.out, "\"edge\": \"N\""), 80U);
    EXPECT_EQ(count_of(topo.out, "\"edge\": \"I\""), 64U);
    EXPECT_EQ(count_of(topo.out, "\"kind\": \"topo\""), 1U);
    EXPECT_EQ(count_of(content(svg), "<rect x="), 256U);
    // The machine that was written is the same machine.
    const Ended again = Command({"topo", "--xml", xml, "--json"}).wait();
    std::filesystem::remove(xml);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    const std::size_t devices = topo.out.find("\"devices\"");
    ASSERT_NE(devices, std::string::npos);
    EXPECT_EQ(again.out.substr(again.out.find("\"devices\"")), topo.out.substr(devices));
}

TEST(Topo, WithoutRelaysAndWithOtherReach) {
    const Ended compat = Command({"topo", "--sim", "topo=trn1:4"}, {{"DUOFI_P2P_COMPAT", "1"}}).wait();
    EXPECT_EQ(count_of(compat.out, "NVB-N"), 4U) << compat.out;
    const Ended pooled = Command({"topo", "--sim", "topo=trn1:4;base=unified;reach=instance"}).wait();
    EXPECT_EQ(count_of(pooled.out, "NVB-I"), 4U) << pooled.out;
}

TEST(Topo, BrokenFilesGiveOneLine) {  // V-18
    const std::string path = path_of("-broken.xml");
    std::ofstream(path) << "<system version=\"1\">\n<cpu numaid=\"x\"/>\n</system>\n";
    const Ended topo = Command({"topo", "--xml", path}).wait();
    std::filesystem::remove(path);
    EXPECT_EQ(topo.exit_code, 1);
    EXPECT_EQ(topo.out, "");
    EXPECT_NE(topo.err.find("--xml: " + path + ":2: <cpu> has numaid=\"x\", expected a whole number from -1 to 4095"),
              std::string::npos)
        << topo.err;
    EXPECT_EQ(count_of(topo.err, path), 1U) << topo.err;
}

TEST(Topo, AFileIsAFileWhateverItsName) {
    const std::string folder = path_of("-names");
    std::filesystem::create_directory(folder);
    for (const char* name : {"trn1", "trn1:4", "a;b.xml", " blank.xml"}) {
        const std::string path = folder + "/" + name;
        std::ofstream(path) << "<system version=\"1\">\n<cpu numaid=\"0\"><pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"80\"/></pci>"
                               "<pci busid=\"0000:11:00.0\"><gpu dev=\"1\" sm=\"80\"/></pci></cpu>\n</system>\n";
        const Ended topo = Command({"topo", "-v", "--xml", path}).wait();
        EXPECT_EQ(topo.exit_code, 0) << name << topo.err;
        EXPECT_EQ(count_of(topo.out, "DEV0-DEV1"), 1U) << name << topo.out;
        EXPECT_EQ(topo.out.find("DEV2"), std::string::npos) << name << topo.out;
    }
    std::filesystem::remove_all(folder);
}

TEST(Topo, SaysWhatTheTransportsDo) {  // C-34
    const Ended mapped = Command({"topo", "--threads"}, {{"DUOFI_P2P_HOST_DEVICES", "0,0"}, {"NCCL_P2P_DIRECT_DISABLE", "1"}}).wait();
    EXPECT_NE(mapped.out.find("PHB-I"), std::string::npos) << mapped.out;
    const Ended none = Command({"topo", "-v"}, {{"DUOFI_P2P_HOST_DEVICES", "0,0"},
                                                {"NCCL_P2P_DISABLE", "1"},
                                                {"NCCL_NET_DISABLE_INTRA", "1"}}).wait();
    EXPECT_NE(none.out.find("-> no transport"), std::string::npos) << none.out;
}

TEST(Topo, RefusesWhatIsNotThere) {
    EXPECT_EQ(Command({"topo", "--sim", "topo=trn9"}).wait().exit_code, 1);
    EXPECT_EQ(Command({"topo", "--xml", "/nonexistent"}).wait().exit_code, 1);
    EXPECT_EQ(Command({"topo", "--xml", "a", "--sim", "b"}).wait().exit_code, 2);
    const Ended unwritable = Command({"topo", "--svg", "/nonexistent/a.svg"}).wait();
    EXPECT_EQ(unwritable.exit_code, 1);
    EXPECT_NE(unwritable.err.find("/nonexistent/a.svg cannot be written"), std::string::npos) << unwritable.err;
    EXPECT_EQ(std::system((std::string(DUOFI_COMMAND) + " topo --sim topo=trn1:4 >/dev/full 2>/dev/null").c_str()), 1 << 8);
}

}  // namespace
}  // namespace duofi::test
