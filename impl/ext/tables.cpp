#include "tables.hpp"

#include <algorithm>
#include <cstring>

#include "base/module.hpp"
#include "base/struct_sizes.hpp"

namespace tutti {

// The tests read these lines.
template <>
inline constexpr StructSizes sizes_of<tutti_backend_table>{"tutti_backend_table",
                                                           {96, 104, 112, 120, 144}};
template <>
inline constexpr StructSizes sizes_of<tutti_store_table>{"tutti_store_table", {112}};
template <>
inline constexpr StructSizes sizes_of<tutti_rendezvous_table>{"tutti_rendezvous_table", {32}};
template <>
inline constexpr StructSizes sizes_of<tutti_module>{"tutti_module", {24, 32}};

}  // namespace tutti

namespace tutti::ext {

namespace {

constexpr size_t most = 4096;  // that is believed of a newer table
constexpr size_t max_name = 32;

// Size and version stand first in every struct of every version.
template <typename Table>
Table read_struct(const Table* given, const std::string& owner, const char* what) {
    if (given == nullptr) refuse(owner, "the ", what, " is NULL");
    uint32_t begin[2];
    std::memcpy(begin, given, sizeof begin);
    const auto [size, version] = begin;
    if (version != TUTTI_EXT_VERSION) {
        throw Error(
            TUTTI_ERR_UNSUPPORTED,
            cat(owner, "the ", what, " belongs to another version of tutti: its interface is ",
                version, ", this library's is ", TUTTI_EXT_VERSION));
    }
    const bool is_newer = size > sizeof(Table) && size <= most && size % sizeof(void*) == 0;
    if (!is_newer && !is_known_size<Table>(size)) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat(owner, "the ", what, " has a struct_size of ", size,
                        ", which no version has: ", known_sizes_in_words<Table>()));
    }
    Table table{};
    std::memcpy(static_cast<void*>(&table), given, std::min<size_t>(size, sizeof table));
    return table;
}

template <typename Entry>
void need(Entry entry, const char* name, const std::string& owner) {
    if (entry == nullptr) refuse(owner, name, " is NULL");
}

void need_name(const char* name, const std::string& owner) {
    need(name, "name", owner);
    if (!is_name(name)) {
        refuse(owner, "name is \"", cut(name, 2 * max_name), "\", not 1 to ", max_name,
               " of a-z, 0-9, - and _");
    }
}

template <typename Table>
void need_same_name(const Table* table, const std::string& name, const std::string& owner) {
    if (table != nullptr && read_table(table, owner).name != name) {
        throw Error(
            TUTTI_ERR_UNSUPPORTED,
            cat(owner, "its name is \"", read_table(table, owner).name, "\", not \"", name, "\""));
    }
}

}  // namespace

bool is_name(const std::string& name) {
    return !name.empty() && name.size() <= max_name &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == name.npos;
}

tutti_backend_table read_table(const tutti_backend_table* given, const std::string& owner) {
    const tutti_backend_table table = read_struct(given, owner, "backend table");
    need_name(table.name, owner);
    need(table.describe, "describe", owner);
    need(table.open, "open", owner);
    need(table.close, "close", owner);
    need(table.post, "post", owner);
    need(table.abort, "abort", owner);
    if (table.alloc_memory != nullptr) need(table.free_memory, "free_memory", owner);
    return table;
}

tutti_store_table read_table(const tutti_store_table* given, const std::string& owner) {
    const tutti_store_table table = read_struct(given, owner, "store table");
    need_name(table.name, owner);
    need(table.set, "set", owner);
    need(table.get, "get", owner);
    need(table.add, "add", owner);
    need(table.wait, "wait", owner);
    need(table.check, "check", owner);
    need(table.compare_set, "compare_set", owner);
    need(table.delete_key, "delete_key", owner);
    return table;
}

tutti_rendezvous_table read_table(const tutti_rendezvous_table* given, const std::string& owner) {
    const tutti_rendezvous_table table = read_struct(given, owner, "rendezvous table");
    need_name(table.name, owner);
    need(table.meet, "meet", owner);
    return table;
}

Library find_library(const std::string& name) {
    const Module found = load_module(name, TUTTI_MODULE_SYMBOL);
    const std::string owner = cat(found.place, ": ");
    const auto get = reinterpret_cast<tutti_module_function>(found.entry);
    Library library{found.place, read_struct(get(TUTTI_EXT_VERSION), owner, "module")};
    need_same_name(library.module.backend, name, owner);
    need_same_name(library.module.store, name, owner);
    need_same_name(library.module.rendezvous, name, owner);
    return library;
}

tutti_error empty_error() {
    tutti_error error{};
    error.struct_size = sizeof error;
    error.rank = -1;
    return error;
}

Status status_of(tutti_status code, const tutti_error& error) {
    if (code == TUTTI_OK) return {};
    const size_t length = strnlen(error.message, sizeof error.message);
    std::string message(error.message, length);
    if (message.empty()) message = cat("it failed with status ", code, " and no reason");
    return {code, error.rank, error.system_errno, std::move(message)};
}

tutti_status tell(const Status& status, tutti_error* error) noexcept {
    if (error == nullptr || status.ok()) return status.code;
    error->status = status.code;
    error->rank = status.rank;
    error->system_errno = status.system_errno;
    const std::string_view text = cut(status.message, sizeof error->message - 1);
    std::memcpy(error->message, text.data(), text.size());
    error->message[text.size()] = '\0';
    return status.code;
}

}  // namespace tutti::ext
