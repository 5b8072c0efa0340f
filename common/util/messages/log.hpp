// Texts of the logger itself.
#pragma once

namespace duofi::messages {

/// Takes the place of a line that could not be put together.
inline constexpr char kLineLost[] = "A message from here was lost: not enough memory to format it";

}  // namespace duofi::messages
