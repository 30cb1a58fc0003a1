#include <towline/version.hpp>

namespace towline {

version_number library_version() noexcept { return header_version; }

} // namespace towline
