// How the layout checks write down a struct a second time, as plain numbers. Compile time only.
#pragma once

#include <cstddef>
#include <initializer_list>

namespace duofi::abi::layout {

struct Field {
    const char* name;
    std::size_t is, should_be;
};

[[maybe_unused]] inline void field_has_moved(Field) {}

/// True, or a compile error whose trace lists the fields with both offsets.
consteval bool in_place(std::initializer_list<Field> fields) {
    for (const Field& field : fields)
        if (field.is != field.should_be) field_has_moved(field);
    return true;
}

}  // namespace duofi::abi::layout

/// A field of the struct that is called T where this stands.
#define AT(field, offset) \
    { #field, offsetof(T, field), offset }
