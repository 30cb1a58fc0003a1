#pragma once
// The archive of all supported types of the standard library, and serialize_buffer. Programs that need short compile times include single
// headers instead.

#include <towline/archive.hpp>
#include <towline/archive_bitset.hpp>
#include <towline/archive_chrono.hpp>
#include <towline/archive_complex.hpp>
#include <towline/archive_filesystem.hpp>
#include <towline/archive_map.hpp>
#include <towline/archive_memory.hpp>
#include <towline/archive_pointer.hpp>
#include <towline/archive_sequence.hpp>
#include <towline/archive_unordered.hpp>
#include <towline/archive_variant.hpp>
#include <towline/serialize_buffer.hpp>
