#pragma once
// Checks the language version. Every public header includes this one first. Internal.

#if __cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#error "towline needs C++20: compile with -std=c++20 or later"
#include <towline needs C++20: compile with -std=c++20 or later>  // stops here instead of hundreds of errors
#endif
