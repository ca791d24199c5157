// Zig's libc++ takes its own newest features for granted; a Mac has the libc++ of its system. With this the headers
// know what macOS 14 lacks and define it in place: std::bad_function_call's table, which came in 2025, is one.
#pragma once
#undef _LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS
