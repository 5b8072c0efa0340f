#include "tools/duofi/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace duofi::tool {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(position));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double share = position - static_cast<double>(below);
    return sorted[below] * (1 - share) + sorted[above] * share;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    return {values.front(), quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75),
            values.back()};
}

std::vector<double> paired_ratios(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        if (b[i] != 0) ratios.push_back(a[i] / b[i]);
    return ratios;
}

}  // namespace duofi::tool
