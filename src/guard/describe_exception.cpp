#include "guard/describe_exception.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

namespace hapax::guard {

namespace {

std::string readable(const std::type_info* type) {
  if (type == nullptr) { return "unknown"; }
  int status = 0;
  char* const text = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : type->name();
  std::free(text);  // NOLINT: allocated by the C++ runtime with malloc
  return name;
}

GuardError raw(const std::exception_ptr& error) {
  if (error == nullptr) { return {"Abandoned", "the call was given up before it ended"}; }
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) { return {known.name(), known.what()}; } catch (const std::exception& known) {
    return {readable(&typeid(known)), known.what()};
  } catch (const std::string& text) { return {"std::string", text}; } catch (const char* text) {
    return {"const char*", text == nullptr ? "(null)" : text};
  } catch (...) {
    return {readable(abi::__cxa_current_exception_type()), "the function threw something that is not a std::exception"};
  }
}

}  // namespace

GuardError describe(const std::exception_ptr& error) {
  const GuardError described = raw(error);
  return {base::keep_head(base::escape_invalid(described.type), limits::name_bytes),
          base::keep_head(base::escape_invalid(described.message), limits::error_message_bytes)};
}

}  // namespace hapax::guard
