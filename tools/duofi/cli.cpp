#include "tools/duofi/cli.hpp"

#include <fmt/core.h>
#include <rdma/fabric.h>

#include <CLI/CLI.hpp>
#include <string>

#include "common/util/version.hpp"
#include "tools/duofi/bench.hpp"
#include "tools/duofi/bench_plan.hpp"
#include "tools/duofi/demo.hpp"
#include "tools/duofi/info.hpp"
#include "tools/duofi/topo.hpp"

namespace duofi::tool {
namespace {

constexpr char kExitCodes[] =
    "Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 77 skipped.\n"
    "Results go to stdout, messages to stderr. Environment: NCCL_NET_PLUGIN chooses the plugin,\n"
    "NCCL_DEBUG=INFO shows what it does, `duofi info --settings` lists its variables.";

std::string version_line() {
    return fmt::format(
        "duofi {} (revision {})\nlibfabric {}.{} (built with {}.{})\n"
        "tables driven: ncclNetPlugin_v6",
        kVersion, kRevision, FI_MAJOR(fi_version()), FI_MINOR(fi_version()), FI_MAJOR_VERSION,
        FI_MINOR_VERSION);
}

/// Help text of an option: its form and default in place of the library's long validator names.
void label(CLI::Option* option, const char* form) {
    option->capture_default_str();
    const std::string value = option->get_default_str();
    option->option_text(value.empty() ? form : fmt::format("{} (default {})", form, value));
}

void add_info(CLI::App& app, InfoOptions& options) {
    CLI::App* sub =
        app.add_subcommand("info", "build, libraries, settings, devices, plugin tables");
    label(sub->add_option("plugin", options.plugin, "plugin to look at: short name or path"),
          "NAME (default NCCL_NET_PLUGIN, else duofi)");
    sub->add_flag("--settings", options.settings_only, "only the settings, all of them");
    sub->add_flag("--json", options.json, "one JSON object");
    sub->footer(kExitCodes);
}

void add_demo(CLI::App& app, DemoOptions& options, bool& csv, bool& json) {
    CLI::App* sub =
        app.add_subcommand("demo", "ranks over the net and RMA plugins and shared memory; every byte is checked");
    const auto count = [&](const char* names, auto& value, auto low, auto high, const char* help) {
        label(sub->add_option(names, value, help)->check(CLI::Range(low, high)), "N");
    };
    const auto bytes = [&](const char* names, std::size_t& value, const char* help) {
        const CLI::Range range(std::size_t{1}, std::size_t{1} << 30);
        CLI::Option* option = sub->add_option(names, value, help)->check(range);
        label(option->transform(CLI::AsSizeValue(false)), "BYTES");
    };
    count("-n,--ranks", options.ranks, 1, 64, "local ranks, 1-64 (a launcher's count wins)");
    bytes("-b,--begin", options.begin, "smallest message; K, M, G are 1024-based");
    bytes("-e,--end", options.end, "largest message");
    count("-f,--factor", options.factor, 2u, 1024u, "growth of the size from row to row");
    count("-i,--iterations", options.iterations, 0u, 1000000u, "messages per size; 0 = by size");
    count("-w,--warmup", options.warmup, 0u, 1000000u, "messages per size before timing starts");
    count("--step-limit", options.step_limit_s, 0.1, 3600.0, "longest wait for one step, s");
    count("--run-limit", options.run_limit_s, 1.0, 86400.0, "longest run of local ranks, s");
    label(
        sub->add_option("--provider", options.provider, "libfabric provider (DUOFI_OFI_PROVIDER)"),
        "NAME");
    sub->add_flag("!--no-one-sided", options.one_sided, "leave out the table of the RMA plugin");
    sub->add_flag("!--no-p2p", options.shared_memory, "leave out the table of shared memory");
    CLI::Option* csv_flag = sub->add_flag("--csv", csv, "CSV in place of the table");
    sub->add_flag("--json", json, "JSON lines in place of the table")->excludes(csv_flag);
    sub->footer(kExitCodes);
}

void add_bench(CLI::App& app, BenchOptions& options) {
    CLI::App* sub = app.add_subcommand(
        "bench", "plugin against plain libfabric, shared memory against memcpy, interleaved rounds");
    CLI::Option* providers = sub->add_option("--provider", options.providers,
                                             "comma list; \"default\" is the plugin's own choice");
    providers->delimiter(',')->option_text("NAMES (default default,shm)");
    label(sub->add_option("-r,--rounds", options.rounds, "rounds over all measurements")
              ->check(CLI::Range(1, static_cast<int>(kMaxRounds))),
          "N");
    label(sub->add_option("-t,--time", options.measurement_s, "aim for one measurement, s")
              ->check(CLI::Range(0.001, 10.0)),
          "SECONDS");
    label(sub->add_option("--csv", options.csv_file, "also write every measurement there"), "FILE");
    CLI::Option* proxy_only = sub->add_flag("--proxy-only", options.proxy_only,
                                            "only the GIN proxy on a table of no-ops");
    CLI::Option* one_sided_only = sub->add_flag("--one-sided-only", options.one_sided_only,
                                                "only the RMA table against raw writes and reads");
    one_sided_only->excludes(proxy_only);
    sub->add_flag("--p2p-only", options.p2p_only, "only shared memory against a counter and memcpy")
        ->excludes(proxy_only)
        ->excludes(one_sided_only);
    sub->add_flag("--json", options.json, "JSON lines in place of the table");
    sub->footer(kExitCodes);
}

void add_topo(CLI::App& app, TopoOptions& options) {
    CLI::App* sub = app.add_subcommand("topo", "who reaches whom over P2P, and why not");
    CLI::Option* xml =
        sub->add_option("--xml", options.xml, "machine in a file of hwloc (lstopo) or NCCL");
    label(xml, "FILE");
    CLI::Option* sim = sub->add_option("--sim", options.sim, "made-up machine, as in DUOFI_P2P_SIM");
    label(sim, "TEXT");
    sim->excludes(xml);
    label(sub->add_option("--svg", options.svg_file, "also a picture of the matrix"), "FILE");
    label(sub->add_option("--dump", options.dump_file, "also the machine as XML of NCCL"), "FILE");
    sub->add_flag("--threads", options.threads, "ranks are threads of one process");
    sub->add_flag("-v,--why", options.reasons, "the reason of each edge");
    sub->add_flag("--json", options.json, "one JSON object");
    sub->footer(kExitCodes);
}

int parse_error(CLI::App& app, const CLI::ParseError& error) {
    const int code = app.exit(error);  // prints help and version to stdout, errors to stderr
    return code == 0 ? kOk : kUsage;
}

}  // namespace

int run_command_line(int argc, char** argv) {
    CLI::App app("duofi: look at, try and measure the duofi plugins", "duofi");
    app.require_subcommand(1);
    app.set_version_flag("--version", version_line());
    app.footer(kExitCodes);
    InfoOptions info;
    DemoOptions demo;
    BenchOptions bench;
    TopoOptions topo;
    bool csv = false, json = false;
    add_info(app, info);
    add_demo(app, demo, csv, json);
    add_bench(app, bench);
    add_topo(app, topo);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return parse_error(app, error);
    }
    if (app.got_subcommand("info")) return run_info(info);
    if (app.got_subcommand("bench")) return run_bench(bench);
    if (app.got_subcommand("topo")) return run_topo(topo);
    demo.form = csv ? Form::csv : json ? Form::json : Form::table;
    if (demo.begin > demo.end) {
        complain("-b must not be larger than -e");
        return kUsage;
    }
    return run_demo(demo);
}

}  // namespace duofi::tool
