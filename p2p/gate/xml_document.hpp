// A small XML file as a tree that remembers its lines. The parser library is used in xml_document.cpp
// only. Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/util/error.hpp"

namespace duofi::p2p {

struct XmlElement {
    std::string name;
    int line = 0;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<XmlElement> children;

    /// NULL when it is not there.
    [[nodiscard]] const std::string* find(std::string_view attribute) const noexcept;
};

/// What is wrong with a file, and where: line 0 means the file as a whole.
struct FileFault {
    int line = 0;
    std::string reason;  ///< "..., expected ..."
};
template <typename T>
using FileResult = tl::expected<T, FileFault>;

[[nodiscard]] inline tl::unexpected<FileFault> file_fault(int line, std::string reason) {
    return tl::unexpected<FileFault>(FileFault{line, std::move(reason)});
}

/// Text of one file of at most 16 MiB.
[[nodiscard]] FileResult<std::string> read_text_file(const std::string& path);

/// The root element. Text between elements is dropped. Documents with a document type that defines
/// entities, or elements nested deeper than 64, are refused.
[[nodiscard]] FileResult<XmlElement> parse_xml(std::string_view text);

/// &, <, >, " and ' as XML and SVG want them.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace duofi::p2p
