#include "p2p/gate/xml_document.hpp"

#include <expat.h>
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace duofi::p2p {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;
constexpr std::size_t kDeepest = 64;

struct ParserFree {
    void operator()(XML_ParserStruct* parser) const noexcept { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<XML_ParserStruct, ParserFree>;

/// The document while it is read: elements that are open, outermost first.
struct Builder {
    XML_Parser parser = nullptr;
    std::vector<XmlElement> open;
    std::optional<XmlElement> root;
    std::optional<FileFault> fault;

    [[nodiscard]] int line() const { return static_cast<int>(XML_GetCurrentLineNumber(parser)); }
    // Exceptions must not cross the parser.
    void refuse(const char* reason) noexcept {
        fault = FileFault{line(), {}};
        try {
            fault->reason = reason;
        } catch (...) {
        }
        XML_StopParser(parser, XML_FALSE);
    }
};

void on_start(void* data, const XML_Char* name, const XML_Char** attributes) noexcept {
    auto& builder = *static_cast<Builder*>(data);
    if (builder.open.size() >= kDeepest) return builder.refuse("elements are nested too deeply");
    try {
        XmlElement element{name, builder.line(), {}, {}};
        for (; *attributes != nullptr; attributes += 2)
            element.attributes.emplace_back(attributes[0], attributes[1]);
        builder.open.push_back(std::move(element));
    } catch (...) {
        builder.refuse("not enough memory");
    }
}

void on_end(void* data, const XML_Char*) noexcept {
    auto& builder = *static_cast<Builder*>(data);
    try {
        XmlElement element = std::move(builder.open.back());
        builder.open.pop_back();
        if (builder.open.empty())
            builder.root = std::move(element);
        else
            builder.open.back().children.push_back(std::move(element));
    } catch (...) {
        builder.refuse("not enough memory");
    }
}

void on_entity(void* data, const XML_Char*, int, const XML_Char*, int, const XML_Char*,
               const XML_Char*, const XML_Char*, const XML_Char*) noexcept {
    static_cast<Builder*>(data)->refuse("the document defines entities, expected none");
}

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const noexcept {
    for (const auto& [key, value] : attributes)
        if (key == attribute) return &value;
    return nullptr;
}

FileResult<std::string> read_text_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                               &std::fclose);
    std::string text;
    std::array<char, 65536> block;
    for (std::size_t got = 1; file && got > 0 && text.size() <= kLargestFile;) {
        got = std::fread(block.data(), 1, block.size(), file.get());
        text.append(block.data(), got);
    }
    if (!file || std::ferror(file.get()) != 0)
        return file_fault(0, fmt::format("cannot be read ({}), expected a readable file",
                                         std::strerror(errno)));
    if (text.size() > kLargestFile)
        return file_fault(0, "is too large, expected at most 16 MiB");
    return text;
}

FileResult<XmlElement> parse_xml(std::string_view text) {
    const Parser parser(XML_ParserCreate("UTF-8"));
    if (!parser) return file_fault(0, "not enough memory");
    Builder builder;
    builder.parser = parser.get();
    XML_SetUserData(parser.get(), &builder);
    XML_SetElementHandler(parser.get(), on_start, on_end);
    XML_SetEntityDeclHandler(parser.get(), on_entity);
    const auto status =
        XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
    if (builder.fault) return tl::unexpected<FileFault>(*builder.fault);
    if (status != XML_STATUS_OK)
        return file_fault(builder.line(),
                          fmt::format("{}, expected well-formed XML",
                                      XML_ErrorString(XML_GetErrorCode(parser.get()))));
    return std::move(*builder.root);
}

std::string xml_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&apos;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace duofi::p2p
