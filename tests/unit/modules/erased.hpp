// Types of C interfaces without the names that differ: handles and enumerations. Only what the call
// of a function depends on is left to compare.
#pragma once

#include <type_traits>

namespace tutti {

struct AnyHandle;  // for all structures: they are only pointed to
template <size_t size>
struct AnyEnumeration;

template <class Type>
struct Erased {
    using type = std::conditional_t<std::is_class_v<Type>, AnyHandle, Type>;
};
template <class Type>
requires std::is_enum_v<Type>
struct Erased<Type> {
    using type = AnyEnumeration<sizeof(Type)>*;
};
template <class Type>
struct Erased<const Type> {
    using type = const typename Erased<Type>::type;
};
template <class Type>
struct Erased<Type*> {
    using type = typename Erased<Type>::type*;
};
template <class Returned, class... Parameters>
struct Erased<Returned(Parameters...)> {
    using type = typename Erased<Returned>::type(typename Erased<Parameters>::type...);
};

#define TUTTI_EQUAL(ours, theirs) \
    static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs);

}  // namespace tutti
