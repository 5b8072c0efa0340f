#include "sim_fabric/knobs.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "common/util/parse.hpp"

namespace duofi::sim {
namespace {

// Not destroyed at exit, when the NIC's thread may still run.
Knobs* g_knobs = new Knobs;

using Set = bool (*)(Knobs&, const std::string&);

struct Row {
    const char* name;
    Set set;
};

template <auto Member>
bool set_flag(Knobs& knobs, const std::string& text) {
    const auto value = parse_bool(text);
    if (value) knobs.*Member = *value;
    return value.has_value();
}

template <auto Member>
bool set_number(Knobs& knobs, const std::string& text) {
    const auto value = parse_integer(text, 0, INT64_MAX);
    using Type = std::remove_reference_t<decltype(knobs.*Member)>;
    if (value) knobs.*Member = static_cast<Type>(*value);
    return value.has_value();
}

/// Microseconds; also with a unit, as in "1ms".
template <auto Member>
bool set_time(Knobs& knobs, const std::string& text) {
    constexpr double kMost = 3600;
    const bool unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
    const auto value = parse_duration(unit ? text : text + "us", 0, kMost);
    if (value) knobs.*Member = *value * 1e6;
    return value.has_value();
}

/// "count" or a list of "domain:bus:device.function[@gbps[@latency_us]]".
bool set_nics(Knobs& knobs, const std::string& text) {
    constexpr std::uint8_t kFirstBus = 0x10;
    knobs.nics.clear();
    if (const auto count = parse_integer(text, 1, kMostNics)) {
        for (std::int64_t i = 0; i < *count; ++i) {
            Nic nic;
            nic.pci_bus = static_cast<std::uint8_t>(kFirstBus + i);
            knobs.nics.push_back(nic);
        }
        return true;
    }
    const auto list = parse_list(text);
    if (!list) return false;
    for (const std::string& entry : *list) {
        unsigned domain = 0, bus = 0, device = 0, function = 0;
        double gbps = 0, latency = 0;
        int length = 0;
        if (std::sscanf(entry.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &length) != 4 || domain > 0xffff ||
            bus > 0xff || device > 0x1f || function > 7)
            return false;
        const char* rest = entry.c_str() + length;
        const bool has_latency = std::count(rest, rest + std::strlen(rest), '@') == 2;
        for (double* value : {&gbps, &latency}) {
            if (*rest == '\0') break;
            if (std::sscanf(rest, "@%lf%n", value, &length) != 1 || !std::isfinite(*value) || *value < 0) return false;
            rest += length;
        }
        if (*rest != '\0') return false;
        Nic nic{static_cast<std::uint16_t>(domain), static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(device),
                static_cast<std::uint8_t>(function), gbps, {}};
        if (has_latency) nic.latency_us = latency;
        knobs.nics.push_back(nic);
    }
    return knobs.nics.size() <= kMostNics;
}

bool set_personality(Knobs& knobs, const std::string& text) {
    const Personality* found = find_personality(text);
    if (found != nullptr) knobs.personality = found;
    return found != nullptr;
}

bool set_faults(Knobs& knobs, const std::string& text) {
    const auto list = parse_list(text);
    if (!list) return false;
    for (const std::string& entry : *list) {
        FaultRule rule;
        if (!parse_fault(entry, rule)) return false;
        knobs.faults.push_back(rule);
    }
    return true;
}

bool set_report(Knobs& knobs, const std::string& text) { return knobs.report = text, true; }

constexpr Row kRows[] = {
    {"personality", set_personality},
    {"exact_name", set_flag<&Knobs::exact_name>},
    {"nics", set_nics},
    {"seed", set_number<&Knobs::seed>},
    {"latency", set_time<&Knobs::latency_us>},
    {"speed", set_flag<&Knobs::model_speed>},
    {"reorder", set_time<&Knobs::reorder_us>},
    {"again", set_number<&Knobs::again_permille>},
    {"credits", set_number<&Knobs::credits>},
    {"fail", set_faults},
    {"freeze_after", set_number<&Knobs::freeze_after>},
    {"freeze_ms", set_number<&Knobs::freeze_ms>},
    {"die_after", set_number<&Knobs::die_after>},
    {"cut_after", set_number<&Knobs::cut_after>},
    {"late_ms", set_number<&Knobs::late_ms>},
    {"no_length", set_flag<&Knobs::no_length>},
    {"no_source", set_flag<&Knobs::no_source>},
    {"duplicate", set_number<&Knobs::duplicate_at>},
    {"corrupt", set_number<&Knobs::corrupt_at>},
    {"emulated_write", set_flag<&Knobs::emulated_write>},
    {"device_memory", set_flag<&Knobs::device_memory>},
    {"application_keys", set_flag<&Knobs::application_keys>},
    {"writedata", set_flag<&Knobs::writes_data>},
    {"manual", set_flag<&Knobs::manual>},
    {"report", set_report},
};

std::map<std::string, std::string> read_file(const std::string& path, std::vector<std::string>& complaints) {
    std::map<std::string, std::string> values;
    std::ifstream file(path);
    if (!file) complaints.push_back("cannot read " + path);
    for (std::string line; std::getline(file, line);) {
        line = line.substr(0, line.find('#'));
        const std::size_t equals = line.find('=');
        if (equals != std::string::npos)
            values[std::string(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
        else if (!trimmed(line).empty())
            complaints.push_back("no '=' in \"" + line + "\" of " + path);
    }
    return values;
}

std::string variable(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return "DUOFISIM_" + name;
}

// A provider list that names a personality chooses it: "duofisim;efa,efa".
std::string personality_of_list(const std::string& list) {
    constexpr std::string_view kPrefix = "duofisim;";
    const std::size_t at = list.find(kPrefix);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + kPrefix.size();
    return list.substr(begin, list.find_first_of(",;", begin) - begin);
}

}  // namespace

Knobs read_knobs(const Lookup& environment, std::vector<std::string>& complaints) {
    Knobs knobs;
    set_personality(knobs, "ideal");
    set_nics(knobs, "1");
    std::map<std::string, std::string> file;
    if (const auto path = environment("DUOFISIM_CONFIG"); path && !path->empty()) file = read_file(*path, complaints);
    for (const char* list : {"FI_PROVIDER", "DUOFI_OFI_PROVIDER"})
        if (const auto value = environment(list))
            if (const std::string name = personality_of_list(*value); !name.empty() && !set_personality(knobs, name))
                complaints.push_back("no personality \"" + name + "\"");
    for (const Row& row : kRows) {
        std::optional<std::string> value = environment(variable(row.name));
        const auto in_file = file.find(row.name);
        if (!value && in_file != file.end()) value = in_file->second;
        if (in_file != file.end()) file.erase(in_file);
        if (!value || trimmed(*value).empty()) continue;
        Knobs changed = knobs;
        if (row.set(changed, std::string(trimmed(*value))))
            (knobs = std::move(changed)).given += std::string(" ") + row.name + "=" + *value;
        else
            complaints.push_back(variable(row.name) + "=" + *value + " is not understood");
    }
    for (const auto& [name, value] : file) complaints.push_back("no knob \"" + name + "\"");
    return knobs;
}

const Knobs& knobs() noexcept { return *g_knobs; }

void set_knobs(Knobs knobs) {
    *g_knobs = std::move(knobs);
    faults().set(g_knobs->faults.data(), g_knobs->faults.size());
}

void forget_knobs() noexcept {
    faults().set(nullptr, 0);
    delete std::exchange(g_knobs, nullptr);
}

}  // namespace duofi::sim
