#pragma once
// The language that these headers are written in. Every public header comes by here first. Internal.

#if __cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#error "towline needs C++20: compile with -std=c++20 or later"
#include <towline needs C++20: compile with -std=c++20 or later>  // stops here: hundreds of errors would follow
#endif
