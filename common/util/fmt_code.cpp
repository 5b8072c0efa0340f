// The compiled half of fmt, inside our own binary and hidden like everything else in it, so that
// nothing needs libfmt at run time. All other files include the light fmt/core.h and link to this.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// fmt/format.h declares these and expects one definition in the program.
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
