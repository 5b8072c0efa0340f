// JSON of every command. Schema changes raise kSchemaVersion and are told in the changelog.
#pragma once

#include <string>

#include "p2p/gate/matrix.hpp"
#include "tools/duofi/info_report.hpp"
#include "tools/duofi/output.hpp"

namespace duofi::tool {

inline constexpr int kSchemaVersion = 1;

/// One JSON line: {"schema_version":1,"kind":kind, ...record in its order}.
[[nodiscard]] std::string json_line(const std::string& kind, const Record& record);

/// The whole report of `duofi info`, indented.
[[nodiscard]] std::string info_json(const InfoReport& report);

/// The matrix of `duofi topo`, indented.
[[nodiscard]] std::string topo_json(const p2p::Matrix& matrix);

}  // namespace duofi::tool
