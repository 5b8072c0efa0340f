#include "tools/duofi/report.hpp"

#include <nlohmann/json.hpp>

namespace duofi::tool {
namespace {

using Json = nlohmann::ordered_json;

Json base(const std::string& kind) {
    return Json{{"schema_version", kSchemaVersion}, {"kind", kind}};
}

Json settings_json(const InfoReport& report) {
    Json rows = Json::array();
    for (const SettingRow& row : report.settings)
        rows.push_back({{"name", row.name},
                        {"value", row.value},
                        {"default", row.default_text},
                        {"accepted", row.accepted},
                        {"source", row.from_environment ? "environment" : "default"},
                        {"help", row.help}});
    return rows;
}

Json discovery_json(const InfoReport& report) {
    Json devices = Json::array();
    for (const ofi::DeviceInfo& device : report.discovered.devices)
        devices.push_back({{"name", device.name},
                           {"provider", device.provider},
                           {"domain", device.domain_name},
                           {"fabric", device.fabric_name},
                           {"address", device.address},
                           {"pci_path", device.pci_path ? Json(*device.pci_path) : Json(nullptr)},
                           {"numa_node", device.numa_node},
                           {"speed_mbps", device.speed_mbps},
                           {"max_message_bytes", device.max_msg_size}});
    Json refusals = Json::array();
    for (const ofi::Refusal& refusal : report.discovered.refusals)
        refusals.push_back({{"provider", refusal.provider},
                            {"domain", refusal.domain},
                            {"address", refusal.address},
                            {"reason", refusal.reason}});
    return {{"error", report.discovery_error}, {"devices", devices}, {"refused", refusals}};
}

Json plugin_json(const PluginFacts& plugin) {
    Json devices = Json::array();
    for (const HostDevice& device : plugin.devices)
        devices.push_back({{"name", device.name},
                           {"pci_path", device.pci_path},
                           {"guid", device.guid},
                           {"pointer_support", device.pointer_support},
                           {"speed_mbps", device.speed_mbps},
                           {"port", device.port},
                           {"latency_us", device.latency_us},
                           {"max_comms", device.max_comms},
                           {"max_recvs", device.max_recvs}});
    return {{"asked", plugin.asked},
            {"file", plugin.file},
            {"hash_fnv1a64", plugin.hash},
            {"error", plugin.error},
            {"network_name", plugin.network_name},
            {"taken_version", plugin.taken_version},
            {"tables", plugin.tables},
            {"protocol", plugin.protocol},
            {"rails", plugin.rails},
            {"devices", devices}};
}

/// Bytes that are not UTF-8 (a path may hold any) are replaced, never thrown on.
std::string dump(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json row_json(const p2p::MatrixRow& row) {
    Json edges = Json::array(), nics = Json::array();
    for (const p2p::MatrixEdge& edge : row.edges)
        edges.push_back({{"path", p2p::to_string(edge.path)},
                         {"edge", std::string(1, static_cast<char>(edge.kind))},
                         {"read", edge.read},
                         {"middle_rank", edge.middle < 0 ? Json(nullptr) : Json(edge.middle)},
                         {"step", p2p::to_string(edge.step)},
                         {"why", edge.why}});
    for (const p2p::PathType type : row.nics) nics.push_back(p2p::to_string(type));
    return {{"rank", row.rank},
            {"bus_id", p2p::bus_text(row.bus_id)},
            {"cpu_affinity", row.affinity},
            {"numa_node", row.numa},
            {"mla", row.mla},
            {"pod_id", row.pod_id},
            {"pod_node", row.pod_node},
            {"edges", edges},
            {"nics", nics}};
}

}  // namespace

std::string json_line(const std::string& kind, const Record& record) {
    Json line = base(kind);
    for (const auto& [name, value] : record)
        std::visit([&line, &key = name](const auto& v) { line[key] = v; }, value);
    return dump(line, -1);
}

std::string info_json(const InfoReport& report) {
    Json json = base("info");
    json["build"] = {{"version", report.build.version},
                     {"revision", report.build.revision},
                     {"compiler", report.build.compiler},
                     {"build_type", report.build.build_type},
                     {"libfabric_headers", report.build.libfabric_headers}};
    json["libraries"] = {{"libfabric_version", report.libraries.libfabric_version},
                         {"libfabric_file", report.libraries.libfabric_file},
                         {"hwloc_file", report.libraries.hwloc_file}};
    json["settings_error"] = report.settings_error;
    json["settings"] = settings_json(report);
    json["discovery"] = discovery_json(report);
    json["plugin"] = plugin_json(report.plugin);
    json["fingerprint"] = report.fingerprint;
    return dump(json, 2);
}

std::string topo_json(const p2p::Matrix& matrix) {
    Json json = base("topo");
    json["source"] = matrix.source;
    json["level"] = p2p::to_string(matrix.level);
    json["level_source"] = matrix.level_set ? "NCCL_P2P_LEVEL" : "default";
    json["nics"] = matrix.nics;
    Json rows = Json::array();
    for (const p2p::MatrixRow& row : matrix.rows) rows.push_back(row_json(row));
    json["devices"] = rows;
    return dump(json, 2);
}

}  // namespace duofi::tool
