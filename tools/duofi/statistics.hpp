// Order statistics of small samples. Values only; any thread.
#pragma once

#include <vector>

namespace duofi::tool {

struct Spread {
    double minimum = 0, lower_quartile = 0, median = 0, upper_quartile = 0, maximum = 0;
};

/// Linear interpolation between order statistics; all zero for an empty sample.
[[nodiscard]] Spread spread_of(std::vector<double> values);

/// a[i] / b[i]: the measurements of one round against each other, so that drift of the machine
/// between rounds cancels. Both must have the same length; a round with b = 0 is left out.
[[nodiscard]] std::vector<double> paired_ratios(const std::vector<double>& a,
                                                const std::vector<double>& b);

}  // namespace duofi::tool
