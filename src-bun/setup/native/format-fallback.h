// std::format for a standard library without <format> (g++ before 13), included before each source of mlx-c, which
// uses it for the text of errors only: "{}" in order, no width, no index. Remove when the oldest g++ we name has it.
#pragma once
#if defined(__cplusplus) && !__has_include(<format>)
#include <sstream>
#include <string>
#include <string_view>

namespace std {
template <typename... Values>
string format(string_view pattern, const Values &...values) {
  ostringstream text;
  const auto put = [&](const auto &value) {
    const auto open = pattern.find("{}");
    if (open == string_view::npos) return;
    text << pattern.substr(0, open) << value;
    pattern.remove_prefix(open + 2);
  };
  (put(values), ...);
  text << pattern;
  return text.str();
}
}  // namespace std
#endif
