#pragma once
// The archive of everything that it knows of the standard library, and serialize_buffer. Programs that count their compile time include
// the parts that they need.

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
