#pragma once
// Includes everything for remote calls. Supported types of the standard library: numbers, std::string, all containers, pairs, tuples,
// optionals, variants, unique_ptr, bitset and chrono's durations; further ones in towline/archive_complex.hpp and archive_filesystem.hpp.

#include <towline/archive_bitset.hpp>
#include <towline/archive_chrono.hpp>
#include <towline/archive_map.hpp>
#include <towline/archive_pointer.hpp>
#include <towline/archive_sequence.hpp>
#include <towline/archive_unordered.hpp>
#include <towline/archive_variant.hpp>
#include <towline/async.hpp>
#include <towline/coroutine.hpp>
#include <towline/object.hpp>
#include <towline/rma_object.hpp>
#include <towline/rma_vector.hpp>
#include <towline/stats.hpp>
#include <towline/strided_view.hpp>
#include <towline/team.hpp>
#include <towline/when.hpp>
#include <towline/world.hpp>
